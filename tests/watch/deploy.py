#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""cf-watch in operation: the dashboard of Grafana and the rules of Prometheus (Debian's prometheus), the Helm chart
(PyPI's helm-python-sdk, kubernetes-validate and cloudcoil-models-prometheus-operator, here or for the Python that
CF_PYTHON names). See harness.py."""
import json
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request

try:
    import yaml
except ImportError:
    yaml = None

from harness import ROOT, SECONDS, Skip, Watch, expect, free_port, main, need, run

DEPLOY = os.path.join(ROOT, 'pipelines', 'watch', 'deploy')
RULES = os.path.join(DEPLOY, 'cf-watch.rules.yaml')
SMALL = {'width': 64, 'height': 48, 'rate': 10, 'source': 'test:ball'}


def read(name):
    with open(os.path.join(DEPLOY, name), encoding='utf-8') as file:
        return file.read()


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text if isinstance(text, str) else json.dumps(text))  # JSON is YAML
    return path


def promtool(*arguments):
    done = subprocess.run(['promtool', *arguments], capture_output=True, text=True, timeout=3 * SECONDS, check=False)
    expect(done.returncode == 0, done.stdout + done.stderr)


class Prometheus:
    """A Prometheus that asks a cf-watch every second, with the rules, while its `with` lasts."""

    def __init__(self, folder, target):
        config = {'global': {'scrape_interval': '1s', 'evaluation_interval': '1s'}, 'rule_files': [RULES],
                  'scrape_configs': [{'job_name': 'cf-watch', 'static_configs': [{'targets': [target]}]}]}
        self.address = f'127.0.0.1:{free_port()}'
        with open(os.path.join(folder, 'prometheus.log'), 'wb') as log:
            self.process = subprocess.Popen(
                ['prometheus', '--config.file=' + write(folder, 'prometheus.yaml', config), '--storage.tsdb.path=' +
                 os.path.join(folder, 'data'), '--web.listen-address=' + self.address], stdout=log, stderr=log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def ask(self, query):
        """Returns the labels and the value of each result; none while it is not up."""
        try:
            with urllib.request.urlopen(f'http://{self.address}/api/v1/query?' + urllib.parse.urlencode(
                    {'query': query}), timeout=SECONDS) as answer:
                return [(one['metric'], float(one['value'][1])) for one in json.load(answer)['data']['result']]
        except urllib.error.HTTPError as error:
            expect(error.code == 503, (query, error.read()))
            return []
        except urllib.error.URLError:
            return []


def dashboard(folder):
    """Each query of the dashboard, asked of a Prometheus that reads a running cf-watch, has a result with the labels
    that the dashboard shows; a camera that cannot be recorded is seen."""
    need('prometheus')
    board = json.loads(read('cf-watch.dashboard.json'))
    panels, variables = board['panels'], [one['name'] for one in board['templating']['list']]
    expect(len({panel['id'] for panel in panels}) == len(panels) > 0, 'the numbers of the panels')
    expect(variables == ['datasource', 'camera'], variables)
    targets = [target for panel in panels for target in panel['targets']]
    cameras = {'door': {**SMALL, 'filter': 'cudaconvolve preset=fill roi=0,0,0.5,0.5'}, 'away': {'source': 'nothing'},
               'full': {**SMALL, 'record': {'folder': '/dev/null/full'}}}
    with Watch({'cameras': cameras, 'metrics': {'port': 0}}, folder) as watch:
        port = watch.wait('ready').get('metrics_port')
        if not port:
            raise Skip('cf-watch was built without libsoup')
        watch.wait('recording-failed', 'full', after={'seq': 0})
        with Prometheus(folder, f'127.0.0.1:{port}') as prometheus:
            for target in targets:
                query = target['expr'].replace('$camera', '.*').replace('$__rate_interval', '5s')
                expect('$' not in query, query)
                watch.until(f'a result of {query}', lambda _, query=query: prometheus.ask(query))
                labels = re.findall(r'{{(\w+)}}', target['legendFormat'])
                for metric, _ in prometheus.ask(query):
                    expect(all(label in metric for label in labels), (query, metric))
            for metric, camera, value in (('up', 'door', 1), ('up', 'away', 0), ('recording_failed', 'full', 1),
                                          ('recording_failed', 'door', 0)):
                found = prometheus.ask(f'cf_watch_{metric}{{camera="{camera}"}}')
                expect([one for _, one in found] == [value], (metric, camera, found))
            watch.until('an alert', lambda _: prometheus.ask('ALERTS{alertname="CfWatchRecordingFails"}'))
        watch.end()


def alerts(folder):
    """The rules fire for what they are for, named by the camera, for nothing else, and end with it. A step is 30 s."""
    need('promtool')
    promtool('check', 'rules', RULES)
    bad = '1x20 0x40 1x20'
    series = {'up{job="cf-watch"}': bad, 'cf_watch_up{camera="away"}': bad, 'cf_watch_on_gpu{camera="away"}': bad,
              'cf_watch_frames_total{camera="busy"}': '0+750x80', 'cf_watch_frames_total{camera="fine"}': '0+750x80',
              'cf_watch_dropped_total{camera="busy"}': '0x20 10+10x39 400x20',
              'cf_watch_dropped_total{camera="fine"}': '0x20 10x60',
              'cf_watch_recording_failed{camera="full"}': '0x20 ' + '1 1 0 ' * 13 + '0x20',
              'cf_watch_recording_failed{camera="fine"}': '0x20 1 0x60',
              'cf_watch_recording_dropped_total{camera="slow"}': '0x20 1+1x39 40x20',
              'cf_watch_recording_dropped_total{camera="fine"}': '0x81',
              'cf_watch_up{camera="lost"}': '1x81', 'cf_watch_on_gpu{camera="lost"}': bad,
              'cf_watch_up{camera="fine"}': '1x81', 'cf_watch_on_gpu{camera="fine"}': '0x81'}
    fires = [('CfWatchDown', None), ('CfWatchCameraAway', 'away'), ('CfWatchDropping', 'busy'),
             ('CfWatchRecordingFails', 'full'), ('CfWatchRecordingDrops', 'slow'), ('CfWatchGpuLost', 'lost')]
    expect([name for name, _ in fires] == re.findall(r'alert: (\w+)', read('cf-watch.rules.yaml')), 'an alert')
    samples = [{'value': 1, 'labels': f'{{alertname="{name}"' + (f',camera="{camera}"}}' if camera else '}')}
               for name, camera in fires]
    promtool('test', 'rules', write(folder, 'test.yaml', {
        'rule_files': [RULES], 'evaluation_interval': '30s', 'tests': [{
            'interval': '30s', 'input_series': [{'series': name, 'values': text} for name, text in series.items()],
            'promql_expr_test': [{
                'expr': 'count by (alertname, camera) (ALERTS{alertstate="firing"})', 'eval_time': time,
                'exp_samples': expected} for time, expected in (('10m', []), ('28m', samples), ('40m', []))]}]}))


# Prints what lint says and the rendered texts, each as a list; the errors of kubernetes-validate go to standard error.
RENDER = '''
import json, sys
import helm_python, kubernetes_validate, yaml
from cloudcoil.models.prometheus_operator import v1
chart, out = sys.argv[1], []
for values in json.loads(sys.argv[2]):
    lint = helm_python.lint(chart, values, strict=True)
    with helm_python.Chart.load(chart) as loaded:
        parts = [part for text in loaded.render(values, name='cams').values() for part in yaml.safe_load_all(text)]
    for part in parts:
        if part['apiVersion'] == 'monitoring.coreos.com/v1':
            model = getattr(v1, part['kind']).model_validate(part)
            kept = model.model_dump(mode='json', by_alias=True, exclude_unset=True)
            assert kept == part, f'a field that {part["kind"]} lacks: {part}'
        else:
            for version in ('1.28', kubernetes_validate.latest_version()):
                kubernetes_validate.validate(part, version, strict=True)
    out.append([[m for m in lint['messages'] if m['severity'] > 1] + lint['errors'], parts])
print(json.dumps(out))
'''


def chart(folder):
    """Helm finds nothing to say about the chart; what it makes fits the schemas of Kubernetes and of
    Prometheus' operator, is the manifest but for the values, and has files that cf-watch takes."""
    python = os.environ.get('CF_PYTHON') or sys.executable
    if not yaml or subprocess.run([python, '-c', 'import helm_python, kubernetes_validate, cloudcoil'], check=False,
                                  stderr=subprocess.DEVNULL).returncode:
        raise Skip('helm-python-sdk, kubernetes-validate or cloudcoil-models-prometheus-operator is missing')
    files = [{'cameras': {'door': SMALL}}, {'cameras': {'yard': SMALL}}]
    values = {'image': 'here/cf-watch:1', 'gpus': 0, 'storage': '1Ti', 'storageClass': 'fast', 'monitoring': True,
              'cameras': files, 'existingSecret': 'mine', 'pod': {'nodeSelector': {'cams': 'yes'}},
              'container': {'resources': {'limits': {'memory': '1Gi'}}}}
    done = subprocess.run([python, '-c', RENDER, DEPLOY, json.dumps([{}, values])], capture_output=True, text=True,
                          check=False, timeout=6 * SECONDS)
    expect(done.returncode == 0, done.stderr)
    (lint, plain), (more_lint, more) = json.loads(done.stdout)
    expect(not lint and not more_lint, (lint, more_lint))
    manifest = list(yaml.safe_load_all(read('cf-watch.yaml')))
    plain[3]['spec']['template']['metadata']['annotations'].pop('checksum/files')
    for part in plain[:2]:  # its own cameras and passwords
        part.update({kind: manifest[plain.index(part)].get(kind) for kind in ('data', 'stringData') if kind in part})
    for part in manifest:
        part['metadata']['labels'] = {'app': 'cf-watch'}
    expect(json.loads(json.dumps(plain).replace('"cams"', '"cf-watch"')) == manifest, plain)
    parts = {(part['kind'], part['metadata']['name']): part for part in more}
    expect(('Secret', 'cams') not in parts, 'a Secret beside the one that there is')
    pods = parts['StatefulSet', 'cams']['spec']
    pod = pods['template']['spec']
    expect(pods['replicas'] == 2 and pod['nodeSelector'] == {'cams': 'yes'}, pods)
    expect(pod['containers'][0]['resources']['limits'] == {'memory': '1Gi'}, pod)
    expect(pod['volumes'][1]['secret']['secretName'] == 'mine', pod['volumes'])
    expect(pods['volumeClaimTemplates'][0]['spec']['storageClassName'] == 'fast', pods)
    data = parts['ConfigMap', 'cams']['data']
    for number, file in enumerate(files):
        text = data[f'cameras-{number}.json']
        expect(json.loads(text)['cameras'] == file['cameras'], text)
        status, _, errors = run('--check', write(folder, 'watch.json', text))
        expect(status == 0 or 'was built without' in errors, errors)
    expect(parts['PrometheusRule', 'cams']['spec'] == yaml.safe_load(read('cf-watch.rules.yaml')), 'the rules')
    board = parts['ConfigMap', 'cams-dashboard']['data']['cf-watch.json']
    expect(board == read('cf-watch.dashboard.json'), board)
    monitor = parts['ServiceMonitor', 'cams']['spec']
    expect(monitor['selector']['matchLabels'] == parts['Service', 'cams']['metadata']['labels'], monitor)


if __name__ == '__main__':
    sys.exit(main(dashboard, alerts, chart))
