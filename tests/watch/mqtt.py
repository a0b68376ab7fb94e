#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch: commands by a broker, what the broker retains, and the documents for Home Assistant. See harness.py."""
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time

try:
    import jsonschema
except ImportError:
    jsonschema = None
try:
    import jinja2.sandbox
except ImportError:
    jinja2 = None

from broker import Broker, Subscriber
from harness import SECONDS, Skip, Watch, Web, expect, free_port, main, need, sanitized
from hidden import jpeg
from live import memory
from page import SMALL

HIDE = 'cudaconvolve name=hide preset=fill roi=0.25,0.25,0.5,0.5'
BLUR = 'cudaconvolve name=blur preset=gauss sigma=1'
MOTION = ('cudamedian temporal-method=running motion-meta=true tamper=true '
          'zones="gate: 0,0 0.5,0 0.5,1 0,1; a \\"b\\" {{ 1 }}: 0.5,0 1,0 1,1"')


class Reader(Subscriber):
    """What the broker sends: objects with topic, payload and retain."""

    def __init__(self, port):
        super().__init__(port, '-F', '%j', '-V', '5', '--retain-as-published')

    def messages(self, lines):
        return [json.loads(line, strict=False) for line in lines if line.startswith('{') and line.endswith('}')]

    def so_far(self):
        return self.messages(self.data.decode(errors='replace').splitlines())

    def wait(self, topic, payload=None, after=0):
        """Returns the first message at the topic with this payload (None: any), and how many there were up to it."""
        found = []

        def is_there(lines):
            found[:] = [(message, at + 1) for at, message in enumerate(self.messages(lines))
                        if at >= after and message['topic'] == topic and payload in (None, message['payload'] or '')]
            return found
        self.until(is_there)
        return found[0]

    def retained(self):
        """Returns the payloads that the broker has, by topic, as a new client gets them: all come before the mark."""
        mark = f'mark/{time.monotonic()}'
        fresh = Reader(self.port)
        fresh.publish(mark, 'x')
        last = fresh.wait(mark)[1]
        fresh.end()
        return {one['topic']: one['payload'] for one in fresh.so_far()[:last] if one['retain']}

    def until_retained(self, condition):
        """Asks the broker again and again until the condition on what it has holds; returns that."""
        deadline = time.monotonic() + SECONDS
        while not condition(kept := self.retained()):
            expect(time.monotonic() < deadline, kept)
        return kept

    def publish(self, topic, text='', *more, data=None, lines=False):
        words = ['-l' if lines else '-s'] if data is not None else ['-m', text] if text else ['-n']
        subprocess.run(['mosquitto_pub', '-h', '127.0.0.1', '-p', str(self.port), '-q', '1', '-t', topic, *words,
                        *more], input=data, check=True, timeout=SECONDS)


class House(Watch):
    """A running cf-watch, a broker, and who listens to it."""

    def __init__(self, cameras, folder, env=None, **mqtt):
        need('mosquitto', 'mosquitto_sub', 'mosquitto_pub')
        self.port = free_port()
        self.broker = Broker(folder, self.port)
        self.broker.start()
        self.reader = Reader(self.port)
        self.config = {'cameras': cameras,
                       'mqtt': {'host': '127.0.0.1', 'port': self.port, 'topic': 'house', 'control': True, **mqtt}}
        super().__init__(self.config, folder, env)
        for name in cameras:
            self.wait('started', name, after={'seq': 0})
        self.wait('broker-connected', after={'seq': 0})
        self.reader.wait('house/available', 'online')

    def __exit__(self, *what):
        super().__exit__(*what)
        self.reader.end()
        self.broker.stop()

    def refused(self, topic, text, camera='door', **options):
        """Publishes what is refused; returns why."""
        after = len(self.reader.so_far())
        more = ['-r'] if options.pop('retained', False) else []
        self.reader.publish(topic, text, *more, **options)
        at = f'house/{camera}/refused' if camera else 'house/refused'
        message, _ = self.reader.wait(at, after=after)
        answer = json.loads(message['payload'])
        expect(topic.startswith(answer['topic']) and not message['retain'], message)
        return answer['error']


def door(**settings):
    return {'door': {'source': 'test:ball', **SMALL, **settings}}


def control(folder):
    """What a message does, whose event it is, and what the broker retains then."""
    with House(door(filter=BLUR, record={'folder': 'rec', 'when': 'off'}), folder) as house:
        house.reader.wait('house/door/enable', 'on')
        house.reader.wait('house/door/record', 'auto')
        house.reader.wait('house/door/state', 'up')
        for topic, text, command, arguments, at, now in (
                ('enable', 'off', 'enable', 'off', 'enable', 'off'),
                ('enable', 'on', 'enable', 'on', 'enable', 'on'),
                ('blur/sigma', '2.5', 'set', 'blur.sigma 2.5', 'blur/sigma', '2.5'),
                ('0/sigma', '3', 'set', '0.sigma 3', 'blur/sigma', '3'),
                ('blur/roi', '', 'set', 'blur.roi ', 'blur/roi', ''),
                ('record', 'on', 'record', 'on', 'record', 'on'),
                ('record', 'auto', 'record', 'auto', 'record', 'auto'),
                ('trigger', '', 'trigger', '', 'moving', 'on')):
            after = len(house.reader.so_far())
            house.reader.publish(f'house/door/{topic}/set', text)
            event = house.wait('command', 'door')
            expect((event['command'], event['arguments'], event['by']) == (command, arguments, 'mqtt'), event)
            expect(now == '' or house.reader.wait(f'house/door/{at}', now, after)[0]['retain'], (topic, text))
        expect(house.ask('get door blur.sigma')['value'] == 3, 'it is set')
        # What others set is there as well, and goes when it is forgotten; so does all of a camera that is removed.
        house.ask('set door blur.sigma 4')
        house.reader.wait('house/door/blur/sigma', '4')
        house.ask('forget door')
        house.wait('back', 'door')
        house.reader.wait('house/door/blur/sigma', '')
        house.reader.publish('house/door/restart/set')
        house.wait('back', 'door')
        house.reader.until_retained(lambda kept: kept.pop('house/door/fps', '10').isdigit() and kept == {
            'house/available': 'online', 'house/door/enable': 'on', 'house/door/record': 'auto',
            'house/door/moving': 'off', 'house/door/state': 'up'})
        house.ask('remove door')
        house.reader.until_retained(lambda kept: kept == {'house/available': 'online'})
        house.end()


def refusals(folder):
    """What is not done, and that somebody hears why: by rules for operators, by form, and what is retained."""
    with House(door(filter=HIDE), folder) as house:
        roi = house.ask('get door hide.roi')['value']
        for topic, text, camera, why in (
                ('house/door/hide/roi/set', '0.3,0.3,0.1,0.1', 'door', 'an operator may not'),
                ('house/door/hide/roi/set', '', 'door', 'an operator may not'),
                ('house/door/enable/set', 'off', 'door', 'an operator may not'),
                ('house/door/hide/nothing/set', '1', 'door', 'nothing'),
                ('house/door/nobody/roi/set', '1', 'door', 'nobody'),
                ('house/door/hide.preset/roi/set', '1', 'door', 'hide'),
                ('house/door/enable/set', 'maybe', 'door', 'neither on nor off'),
                ('house/door/enable/set', '', 'door', 'enable needs'),
                ('house/door/enable/set', 'off\n', 'door', 'neither on nor off'),
                ('house/door/trigger/set', 'now', 'door', 'trigger needs'),
                ('house/door/set/set', 'hide.roi 0,0,1,1', 'door', 'set needs'),
                ('house/door/filter/set', 'identity', 'door', 'needs the role admin'),
                ('house/door/forget/set', '', 'door', 'needs the role admin'),
                ('house/door/remove/set', '', 'door', 'needs the role admin'),
                ('house/door/quit/set', '', 'door', 'needs the role owner'),
                ('house/door/snapshot/set', '/tmp/x.png', 'door', 'needs the role admin'),
                ('house/door/reload/set', '', 'door', 'needs the role admin'),
                ('house/door/add/set', '{}', 'door', 'needs the role admin'),
                ('house/door//set', 'x', 'door', 'there is no command'),
                ('house/gate/enable/set', 'on', None, 'there is no camera'),
                ('house//enable/set', 'on', None, 'there is no camera'),
                (f'house/{"x" * 3000}/enable/set', 'on', None, 'there is no camera')):
            error = house.refused(topic, text, camera)
            expect(why in error and len(error) < 600, (topic, text, error))
        for data in (b'\xff\xfe', b'0\x00', b'0' * 65537):
            expect('UTF-8' in house.refused('house/door/hide/roi/set', None, data=data), data[:9])
        # Too large for the broker to pass on: nobody is told, and the connection stays.
        house.reader.publish('house/door/hide/roi/set', data=b'0' * (2 << 20))
        # Retained: now, and again with each connection; one event a minute.
        expect('retained' in house.refused('house/door/hide/fill-color/set', '1', retained=True), 'now')
        event = house.wait('command-refused', 'door')
        expect(event['topic'] == 'house/door/hide/fill-color/set' and 'retained' in event['reason'], event)
        house.reader.publish('house/door/hide/roi/set', '0,0,1,1', '-r')
        # What may be done is done after all of that.
        house.reader.publish('house/door/hide/roi/set', roi + ';0,0,0.1,0.1')
        expect(house.wait('command', 'door')['arguments'].endswith(';0,0,0.1,0.1'), 'an area more')
        expect(not any(e['type'] == 'broker-lost' for e in house.events), house.text)
        house.broker.stop()
        house.wait('broker-lost')
        house.broker.start()
        house.wait('broker-connected')
        expect(house.ask('get door hide.roi')['value'] == roi + ';0,0,0.1,0.1', 'nothing comes again')
        expect(sum(e['type'] == 'command-refused' for e in house.events) == 1, house.text)
        commands = [e['command'] for e in house.events if e['type'] == 'command']
        expect(commands == ['set'], commands)
        house.end()


def again(folder):
    """A retained command comes with a connection and is refused; to take it back is no command. All that is so is
    retained by a broker that has forgotten it."""
    need('mosquitto', 'mosquitto_pub')
    with House(door(filter=BLUR), folder) as house:
        house.reader.wait('house/door/enable', 'on')
        house.reader.end()
        house.broker.stop()
        house.wait('broker-lost')
        house.broker.start()
        house.reader = Reader(house.port)
        house.reader.publish('house/door/enable/set', 'off', '-r')
        house.wait('broker-connected')
        house.wait('command-refused', 'door')
        house.reader.wait('house/door/enable', 'on')
        house.reader.publish('house/door/enable/set', '', '-r')
        house.reader.publish('house/door/enable/set', 'off')
        house.reader.wait('house/door/enable', 'off')
        expect(sum(one['topic'] == 'house/door/refused' for one in house.reader.so_far()) == 1, house.reader.so_far())
        expect(len([e for e in house.events if e['type'] == 'command']) <= 1, house.text)
        house.end()


def odd_names(folder):
    """Elements whose names cannot be a part of a topic have none, and take nobody else's; a process that is killed is
    away."""
    line = ' ! '.join(f'cudaconvolve name="{name}" preset=gauss' for name in ('a/b', '#', 'c\ufffe', 'd e'))
    with House(door(filter=line), folder) as house:
        for name in ('0', '1', '2', '3'):
            house.ask(f'set door {name}.sigma 2')
        house.ask('enable door off')
        house.reader.until_retained(lambda kept: kept.get('house/door/state') == 'up' and {
            topic for topic in kept if topic.count('/') > 2} == {'house/door/d e/sigma', 'house/door/d e/enabled'})
        expect(not any(e['type'] == 'broker-lost' for e in house.events), house.text)
        house.process.kill()
        house.reader.wait('house/available', 'offline')


def off(folder):
    """Without `control` nothing is done, and nothing is retained but whether cf-watch is there."""
    with House(door(filter=BLUR), folder, control=False) as house:
        for topic, text in (('enable', 'off'), ('blur/sigma', '3'), ('restart', '')):
            house.reader.publish(f'house/door/{topic}/set', text)
        house.ask('restart door')
        house.wait('back', 'door')
        house.reader.until(lambda lines: any('/back' in line for line in lines))
        expect([e['command'] for e in house.events if e['type'] == 'command'] == ['restart'], house.text)
        expect(house.reader.retained() == {'house/available': 'online'}, house.reader.retained())
        house.end()


def waiting(folder):
    """More commands than may wait for the next frame of a camera that stands still: the first of them waits no longer,
    but that of another camera does."""
    picture, over = jpeg((64, 48), 'I420', (0, 0, 0, 0)), threading.Event()
    part = b'--b\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%s\r\n' % (len(picture), picture)

    def answer(request):
        request.wfile.write(b'HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=b\r\n\r\n' +
                            part * 3)
        over.wait()

    with Web(answer) as web, \
            House({name: {'source': web.address, 'filter': BLUR, 'timeout': 60} for name in ('door', 'hall')},
                  folder) as house:
        house.until('all frames', lambda s: all(camera['frames'] == 3 for camera in s['cameras'].values()))
        deadline, waited = time.monotonic() + SECONDS, False
        while not waited:  # they wait for a second only
            expect(time.monotonic() < deadline, house.text)
            before = last = {'seq': len(house.events)}
            house.reader.publish('house/door/blur/sigma/set', '2')
            house.reader.publish('house/hall/blur/sigma/set', data=b'2\n' * 33, lines=True)
            for number in range(33):
                last = house.wait('command', 'hall', last)
                waited |= number == 0 and house.wait('command', 'door', before)['seq'] > last['seq']
        house.end()
        over.set()


def flood(folder):
    """Whoever sends commands without an end fills no memory, and the cameras, other commands and the end come."""
    count = 20000
    with House(door(filter=BLUR), folder) as house:
        def send(topic, text):
            subprocess.run(['mosquitto_pub', '-h', '127.0.0.1', '-p', str(house.port), '-q', '0', '-t', topic, '-l'],
                           input=text * count, check=True, timeout=6 * SECONDS)
        floods = [threading.Thread(target=send, args=args) for args in
                  (('house/door/nothing/set', b'x\n'), ('house/door/blur/nothing/set', b'y\n'))]
        before = memory(house)
        for one in floods:
            one.start()
        slowest = 0.0
        while any(one.is_alive() for one in floods):
            begun = time.monotonic()
            expect(house.ask('status door')['status']['cameras']['door']['state'] == 'up', 'the camera')
            slowest = max(slowest, time.monotonic() - begun)
        house.reader.publish('house/door/blur/sigma/set', '2')
        house.wait('command', 'door')
        took = memory(house) - before
        expect(took < 30, f'{took} MiB')
        expect(slowest < 2, f'{slowest:.1f} s')
        print(f'    {2 * count} commands: {took} MiB, the slowest answer {slowest:.2f} s')
        expect(not any(e['type'] in ('lost', 'broker-lost', 'events-lost') for e in house.events), house.text[-3000:])
        # The end comes while the flood goes on, and the broker gets the last event and that nobody is there any more.
        listener, over = Subscriber(house.port, '-t', 'house/available', topic='house/stopped'), threading.Event()

        def send_on():
            while not over.is_set():
                send('house/door/nothing/set', b'z\n')
        last = threading.Thread(target=send_on)
        last.start()
        try:
            # More events than a broker takes at once: the last one is sent when the first ones are acknowledged. With
            # the sanitizer, what the flood has left before the acknowledgements may take longer than the program waits.
            house.send('trigger door\n' * (0 if sanitized() else 30) + 'quit')
            house.wait('stopped')
            house.finish(0)
            listener.until(lambda lines: any(line.startswith('house/stopped ') for line in lines) and
                           'house/available offline' in lines)
            expect(last.is_alive(), 'the flood has ended')
        finally:
            over.set()
            last.join()
            listener.end()


# Home Assistant's schema of a device's document (homeassistant/components/mqtt/schemas.py and, of the entities, their
# own files), as far as it concerns these: what it does not know, it refuses.
TEXT = {'type': 'string', 'minLength': 1}
TOPIC = {'type': 'string', 'pattern': r'^[^+#\0]+$'}
ENTITY = {'platform': TEXT, 'unique_id': TEXT, 'name': TEXT, 'value_template': TEXT, 'entity_category': {
    'enum': ['config', 'diagnostic']}}


def entity(platform, required=(), **members):
    return {'if': {'properties': {'platform': {'const': platform}}}, 'then': {
        'properties': {**ENTITY, **members}, 'required': ['unique_id', *required], 'additionalProperties': False}}


DOCUMENT = {
    'type': 'object', 'additionalProperties': False, 'required': ['device', 'components', 'origin'],
    'properties': {
        'device': {
            'type': 'object', 'additionalProperties': False, 'required': ['identifiers'], 'properties': {
                'identifiers': {'type': 'array', 'items': TEXT, 'minItems': 1}, 'name': TEXT, 'model': TEXT,
                'manufacturer': TEXT, 'sw_version': TEXT}},
        'origin': {
            'type': 'object', 'additionalProperties': False, 'required': ['name'], 'properties': {
                'name': TEXT, 'sw_version': TEXT, 'support_url': TEXT}},
        'availability': {'type': 'array', 'items': {
            'type': 'object', 'additionalProperties': False, 'required': ['topic'], 'properties': {
                'topic': TOPIC, 'value_template': TEXT}}},
        'availability_mode': {'enum': ['all', 'any', 'latest']},
        'components': {'type': 'object', 'minProperties': 1, 'additionalProperties': {
            'type': 'object', 'required': ['platform'],
            'properties': {'platform': {'enum': ['switch', 'select', 'binary_sensor', 'sensor', 'button']}},
            'allOf': [
                entity('switch', ['command_topic'], command_topic=TOPIC, state_topic=TOPIC, payload_on=TEXT,
                       payload_off=TEXT),
                entity('select', ['command_topic', 'options'], command_topic=TOPIC, state_topic=TOPIC,
                       options={'type': 'array', 'items': TEXT, 'minItems': 1}),
                entity('binary_sensor', ['state_topic'], state_topic=TOPIC, device_class={'enum': ['motion', 'tamper']},
                       payload_on=TEXT, payload_off=TEXT),
                entity('sensor', ['state_topic'], state_topic=TOPIC, unit_of_measurement=TEXT,
                       state_class={'enum': ['measurement', 'total', 'total_increasing']}),
                entity('button', ['command_topic'], command_topic=TOPIC, payload_press={'type': 'string'})]}}}}


def document(message):
    """Returns a document that fits the schema and has a topic that Home Assistant reads."""
    expect(message['retain'] and re.fullmatch(r'ha/device/[a-zA-Z0-9_-]+/config', message['topic']), message)
    content = json.loads(message['payload'])
    if not jsonschema:
        raise Skip('python3-jsonschema is missing')
    jsonschema.Draft202012Validator.check_schema(DOCUMENT)
    jsonschema.Draft202012Validator(DOCUMENT).validate(content)
    ids = [one['unique_id'] for one in content['components'].values()]
    expect(len(set(ids)) == len(ids), ids)
    return content


def renders(template, value, wanted):
    """Returns whether Home Assistant makes this of a message."""
    if not jinja2:
        print('    jinja2 is missing: templates are not looked at')
        return True
    made = jinja2.sandbox.SandboxedEnvironment().from_string(template)
    return made.render(value=value, value_json=json.loads(value) if value[:1] == '{' else None) == wanted


def discovery(folder):
    """The document of each camera: entities and their topics; sent again when Home Assistant comes back; it goes with
    the camera, and names that differ have topics that differ."""
    cameras = {**door(filter=MOTION, record={'folder': 'rec', 'when': 'off'}), 'a.b': door()['door'],
               'a_2eb': door(filter=BLUR)['door']}
    at = {name: f'ha/device/house_2f{escaped}/config'
          for name, escaped in (('door', 'door'), ('a.b', 'a_2eb'), ('a_2eb', 'a_5f2eb'))}
    with House(cameras, folder, discovery='ha') as house:
        documents = {}
        for name, topic in at.items():
            house.reader.wait(f'house/{name}/state', 'up')
            house.reader.until(lambda lines, topic=topic, name=name: any(
                one['topic'] == topic and ('zone_gate' in one['payload'] or name != 'door')
                for one in house.reader.messages(lines)))
            documents[name] = document([one for one in house.reader.so_far() if one['topic'] == topic][-1])
            expect(documents[name]['device']['identifiers'] == [topic.split('/')[2]], documents[name])
        parts = {name: set(one['components']) for name, one in documents.items()}
        usual = {'motion', 'fps', 'trigger'}
        expect(parts == {'door': usual | {'filter', 'record', 'tamper', 'zone_gate', 'zone_a "b" {{ 1 }}'},
                         'a.b': usual, 'a_2eb': usual | {'filter'}}, parts)
        # What the topics have is what the entities know.
        entities = documents['door']['components']
        kept = house.reader.until_retained(lambda kept: kept.get('house/door/state') == 'up' and
                                           'house/door/enable' in kept)
        expect(kept[entities['record']['state_topic']] in entities['record']['options'], kept)
        expect(kept[entities['filter']['state_topic']] == entities['filter']['payload_on'], kept)
        expect(kept[entities['motion']['state_topic']] in ('on', 'off'), kept)
        process, state = documents['door']['availability']
        expect(kept[process['topic']] == 'online' and
               renders(state['value_template'], kept[state['topic']], 'online') and
               renders(state['value_template'], 'waiting', 'offline'), kept)
        fields = {'event': 'enter-zone', 'zone': 'a "b" {{ 1 }}'}
        event = {'name': 'cudamedian', 'element': 'x', 'fields': fields}
        for zone, value, want in (('zone_a "b" {{ 1 }}', event, 'enter-zone'), ('zone_gate', event, ''),
                                  ('zone_gate', {**event, 'fields': {'event': 'motion-start'}}, ''),
                                  ('zone_a "b" {{ 1 }}', {**event, 'name': 'cudasegment'}, '')):
            expect(renders(entities[zone]['value_template'], json.dumps(value), want), (zone, value))
        for what, want in (('covered-start', 'on'), ('covered-stop', 'off'), ('light', ''), ('motion-start', ''),
                           ('enter-zone', '')):
            value = {**event, 'fields': {'event': what}}
            expect(renders(entities['tamper']['value_template'], json.dumps(value), want), value)
        # Each switch and button works.
        for key, text in (('filter', entities['filter']['payload_off']), ('record', 'on'),
                          ('trigger', entities['trigger']['payload_press'])):
            house.reader.publish(entities[key]['command_topic'], text)
            expect(house.wait('command', 'door')['by'] == 'mqtt', key)
        house.reader.wait('house/door/enable', entities['filter']['payload_off'])
        # Home Assistant comes back.
        after = len(house.reader.so_far())
        house.reader.publish('ha/status', 'online')
        for topic in at.values():
            house.reader.wait(topic, after=after)
        # A camera leaves the file.
        del house.config['cameras']['a.b']
        house.write(house.config)
        house.ask('reload')
        house.reader.until_retained(lambda kept: at['a.b'] not in kept and {at['door'], at['a_2eb']} <= kept.keys() and
                                    not any(topic.startswith('house/a.b/') for topic in kept))
        # What ends with cf-watch is there again with it, and stays, however long the end takes.
        os.mkfifo(os.path.join(folder, 'fifo'))
        house.ask('add fifo {"source":"fifo"}')
        house.send('quit')
        house.wait('stopping')
        for _ in range(5):
            kept = house.reader.retained()
            expect(at['door'] in kept and at['a_2eb'] in kept and kept['house/door/record'] == 'on', kept)
        house.process.kill()


def sensors(folder):
    """Without `control` there is nothing to switch."""
    with House(door(filter=BLUR), folder, control=False, discovery='ha') as house:
        found = document(house.reader.wait('ha/device/house_2fdoor/config')[0])
        expect(set(found['components']) == {'motion', 'fps'}, found)
        house.reader.publish('house/door/enable/set', 'off')
        house.ask('restart door')
        house.wait('back', 'door')
        expect([e['command'] for e in house.events if e['type'] == 'command'] == ['restart'], house.text)
        house.end()


def old_broker(folder):
    """A broker that speaks MQTT 3.1.1 alone: the event says what is wrong."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        config = {'cameras': door(), 'mqtt': {'host': '127.0.0.1', 'port': server.getsockname()[1], 'control': True}}
        with Watch(config, folder) as watch:
            client = server.accept()[0]
            client.sendall(b'\x20\x02\x00\x01')
            reason = watch.wait('broker-lost', after={'seq': 0})['reason']
            expect('protocol version' in reason.lower(), reason)
            client.close()
            watch.end()


if __name__ == '__main__':
    sys.exit(main(control, refusals, again, odd_names, off, waiting, flood, discovery, sensors, old_broker))
