#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Runs cf-diagnose on made-up machines, and looks for the sentence that helps.

usage: diagnose.py CF-DIAGNOSE LIBCUDA LIBNVML LIBNVCUVID PLUGIN

PLUGIN is the one of tests/faults, whose GPUs filter as long as they are new enough.

A machine is files below a folder, and libraries of tests/tools/fake-driver.c. Ends with `N passed, N failed, N
skipped`.
"""
import os
import shutil
import subprocess
import sys
import tempfile

PROGRAM, LIBRARIES, PLUGIN = sys.argv[1], dict(zip(('cuda', 'nvml', 'decode'), sys.argv[2:])), sys.argv[5]
NAMES = {'cuda': 'libcuda.so.1', 'nvml': 'libnvidia-ml.so.1', 'decode': 'libnvcuvid.so.1'}
CARD = {'/sys/bus/pci/devices/0/vendor': '0x10de', '/sys/bus/pci/devices/0/class': '0x030000'}
MODULE = {'/proc/driver/nvidia/version': 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01'}
NODES = {'/dev/nvidiactl': '', '/dev/nvidia0': '', '/dev/nvidia-uvm': ''}
DRIVER = {**CARD, **MODULE, **NODES}
DOCKER = {'/.dockerenv': ''}
WSL = {'/proc/sys/kernel/osrelease': '5.15.90.1-microsoft-standard-WSL2'}
CLOSED = 'only root may open it'
ORIN = {'/proc/device-tree/model': 'NVIDIA Jetson AGX Orin Developer Kit', '/dev/nvmap': '',
        '/etc/nv_tegra_release': '# R38 (release), REVISION: 2.0, GCID: 1, BOARD: generic'}
IGPU = {'FAKE_INTEGRATED': '1', 'FAKE_CAPABILITY': '87', 'FAKE_DRIVER': '13000'}
NO_PCI = ['PCI', 'nvidia-smi', 'no NVIDIA driver is loaded', 'libcuda1', 'libnvcuvid']
ALL, CUDA = ('cuda', 'nvml', 'decode'), ('cuda', 'nvml')

# name, files, libraries, environment, words that must be there, words that must not
CASES = [
    ('no GPU', {}, (), {}, ['No NVIDIA device is on the PCI bus'], ['libcuda.so.1 is missing']),
    ('no driver', CARD, (), {}, ["1 NVIDIA device is on the PCI bus, but NVIDIA's driver is not loaded. Install"], []),
    ('nouveau', {**CARD, '/sys/module/nouveau/x': ''}, (), {}, ['not loaded: nouveau is', 'ubuntu-drivers'], []),
    ('host without driver', {**CARD, **DOCKER}, (), {}, ['Install the driver on the host'], []),
    ('container', {**CARD, **MODULE, **DOCKER}, (), {}, ['This container has no GPU', '--gpus all'], ['modprobe']),
    ('podman', {**CARD, **MODULE, '/run/.containerenv': ''}, (), {}, ['--device nvidia.com/gpu=all'], []),
    ('no nodes', {**CARD, **MODULE}, (), {}, ['sudo nvidia-modprobe -c 0 -u'], []),
    ('no uvm', {**CARD, **MODULE, '/dev/nvidiactl': '', '/dev/nvidia0': ''}, (), {}, ['nvidia-modprobe'], []),
    ('nodes of others', {**DRIVER, '/dev/nvidia0': CLOSED}, (), {}, ['may not open /dev/nvidia0', 'usermod'], []),
    ('no libcuda', DRIVER, (), {}, ['libcuda.so.1 is missing', 'libcuda1'], []),
    ('no libcuda in a container', {**DRIVER, **DOCKER}, (), {}, ['lacks "compute"'], ['apt-get install libcuda1']),
    ('all is well', DRIVER, ALL, {'CF_DIAGNOSE_TOOLKIT': '12010'},
     ['Fake GPU 0, compute capability 8.9, 1 SMs, 8.0 GiB'],
     ['sudo nvidia-smi', 'older', 'MIG is', 'is missing. ', 'kernels are for']),
    ('old driver', DRIVER, ALL, {'FAKE_DRIVER': '11080', 'CF_DIAGNOSE_TOOLKIT': '12060'},
     ['it is for CUDA 11.8, this build needs 12.0. Install driver 525.60', 'cuda-compat-12-6'], ['build with']),
    ('old driver, CUDA 13', DRIVER, ALL, {'CF_DIAGNOSE_TOOLKIT': '13000'},
     ['Install driver 580.65', 'or build with toolkit 12.9, the newest that this driver runs; or, on'], []),
    ('older driver of the same major', DRIVER, ALL, {'CF_DIAGNOSE_TOOLKIT': '12060'},
     ['The driver (CUDA 12.2) is older than the toolkit (12.6)', '-Dcuda-archs=89'], ['Install driver']),
    ('stub', DRIVER, ALL, {'FAKE_INIT': '34'}, ["the toolkit's stub"], []),
    ('busy', DRIVER, ALL, {'FAKE_INIT': '46'}, ['All GPUs are busy'], []),
    ('fabric', DRIVER, ALL, {'FAKE_INIT': '802'}, ['nvidia-fabricmanager'], []),
    ('mismatch', DRIVER, ALL, {'FAKE_INIT': '803'}, ['different versions, as after an update. Reboot'], []),
    ('mismatch by NVML', DRIVER, ALL, {'FAKE_INIT': '999', 'FAKE_NVML': '18'}, ['Reboot.'], ['CUDA error']),
    ('forward compatibility', DRIVER, ALL, {'FAKE_INIT': '804'}, ['does not work with this GPU'], []),
    ('forward compatibility in use', DRIVER, ('compat',) + ALL, {'CF_DIAGNOSE_TOOLKIT': '12010'},
     ['(cuda-compat) is in use: CUDA 12.2'], []),
    ('unknown error', DRIVER, ALL, {'FAKE_INIT': '999'}, ['(CUDA error 999)', 'nvidia_uvm'], []),
    ('hidden', DRIVER, ALL, {'FAKE_INIT': '100', 'CUDA_VISIBLE_DEVICES': '-1'},
     ['CUDA_VISIBLE_DEVICES="-1" hides'], []),
    ('no device', DRIVER, ALL, {'FAKE_DEVICES': '0'}, ['lists no GPU that CUDA can use'], []),
    ('old GPU', DRIVER, ALL, {'FAKE_CAPABILITY': '61'}, ['has compute capability 6.1', 'Turing'], ['kernels are for']),
    ('a GPU without kernels', DRIVER, ALL, {'FAKE_DEVICES': '2', 'CF_DIAGNOSE_ARCHS': '75,90'},
     ["Device 1: Fake GPU 1 has compute capability 8.9, and this build's kernels are for 75,90; build with "
      '-Dcuda-archs=89,75,90.', 'kernels for -Dcuda-archs=75,90'], ['Turing']),
    ('kernels for an older GPU', DRIVER, ALL, {'CF_DIAGNOSE_ARCHS': '80,90'},
     ['kernels for -Dcuda-archs=80,90'], ['kernels are for']),
    ('kernels for the driver to compile', DRIVER, ALL, {'CF_DIAGNOSE_ARCHS': '75'}, [], ['kernels are for']),
    ('exclusive', DRIVER, ALL, {'FAKE_MODE': '3'}, ['exclusive mode', 'sudo nvidia-smi -i 0 -c 0', 'MPS'], []),
    ('prohibited', DRIVER, ALL, {'FAKE_MODE': '2'}, ['"prohibited"'], []),
    ('watchdog', DRIVER, ALL, {'FAKE_WATCHDOG': '1'}, ['drives a display', 'cuda-device-id'], []),
    ('MIG without an instance', DRIVER, ALL, {'FAKE_MIG': '1', 'FAKE_DEVICES': '0'},
     ['mig -cgi 0 -C'], ['but lists no']),
    ('MIG', DRIVER, ALL, {'FAKE_MIG': '1', 'FAKE_INSTANCES': '2'}, ['CUDA_VISIBLE_DEVICES=MIG-'], ['-cgi']),
    ('no nvcodec', DRIVER, ALL,
     {'GST_PLUGIN_SYSTEM_PATH_1_0': '/none', 'GST_REGISTRY': '/none'},
     ['plugin nvcodec is missing'], []),
    ('a Jetson', ORIN, ('cuda',), IGPU,
     ['machine NVIDIA Jetson AGX Orin Developer Kit, Jetson Linux R38', 'compute capability 8.7',
      "8.0 GiB, which is the machine's memory", 'nvv4l2decoder'], [*NO_PCI, 'JetPack', 'MIG', 'libcuda']),
    ('a Jetson, for desktop GPUs', ORIN, ('cuda',), {**IGPU, 'CF_DIAGNOSE_ARCHS': '80,86,90'},
     ['build with -Dcuda-archs=87,80,86,90'], NO_PCI),
    ('a Jetson with JetPack 6', {**ORIN, '/etc/nv_tegra_release': '# R36 (release), REVISION: 4.3'}, ('cuda',),
     {**IGPU, 'FAKE_DRIVER': '12060', 'CF_DIAGNOSE_TOOLKIT': '13000'},
     ['R36 (JetPack 6). JetPack 7 is needed', "A Jetson's driver comes with JetPack"], [*NO_PCI, '580.65']),
    ('a Jetson without its driver', ORIN, (), {}, ['install nvidia-jetpack'], NO_PCI),
    ('a Jetson without a model', {'/etc/nv_tegra_release': '# R38 (release)'}, (), {},
     ['machine a Jetson, Jetson Linux R38'], NO_PCI),
    ('a container on a Jetson', {**ORIN, **DOCKER}, (), {}, ['docker run --runtime nvidia'], [*NO_PCI, '--gpus']),
    ('a Jetson of others', {**ORIN, '/dev/nvmap': CLOSED}, ('cuda',), {**IGPU, 'FAKE_DEVICES': '0'},
     ['usermod -aG video,render'], [*NO_PCI, 'lists no GPU']),
    ('a Jetson whose driver fails', ORIN, ('cuda',), {**IGPU, 'FAKE_INIT': '999'}, ['CUDA error 999'], NO_PCI),
    ('two GPUs, one too old', DRIVER, ('plugin', *ALL), {'FAKE_DEVICES': '2', 'FAKE_OLD': '0'},
     ['backend=auto uses the GPU: device 1 filtered a frame. Device 0 has not: The GPU cannot be used: ',
      'has compute capability 6.1'], ['uses the CPU']),
    ('two GPUs', DRIVER, ('plugin', *ALL), {'FAKE_DEVICES': '2'},
     ['backend=auto uses the GPU: devices 0, 1 filtered a frame.'], ['has not']),
    ('a GPU that is lost', DRIVER, ('plugin', *ALL), {'FAKE_LOST_AT': '30'}, ['backend=auto uses the CPU'],
     ['filtered a frame']),
    ('WSL without GPU', WSL, (), {}, ['wsl --update', '/dev/dxg is missing'], ['PCI']),
    ('WSL, path', {**WSL, '/dev/dxg': '', '/usr/lib/wsl/lib/libcuda.so.1': ''}, (), {},
     ['LD_LIBRARY_PATH=/usr/lib/wsl/lib'], []),
    ('WSL, no driver', {**WSL, '/dev/dxg': ''}, (), {}, ['Install it in Windows'], ['modprobe']),
]
# Only where the plugin is installed.
NVCODEC = [
    ('no libnvcuvid', DRIVER, CUDA, {}, ['libnvcuvid.so.1) is missing', 'libnvcuvid1'], []),
    ('no libnvcuvid in a container', {**DRIVER, **DOCKER}, CUDA, {}, ['lacks "video"'], []),
    ('no decoder', DRIVER, ALL, {}, ['gstreamer-1.0'], ['libnvcuvid.so.1) is'])]


def diagnose(files, libraries, settings, registry):
    """Returns what cf-diagnose prints on such a machine, in one line."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            os.makedirs(os.path.dirname(folder + path), exist_ok=True)
            with open(folder + path, 'w', encoding='utf-8') as file:
                file.write(text + '\n')
            os.chmod(folder + path, 0 if text == CLOSED else 0o644)
        place = os.path.join(folder, 'compat' if 'compat' in libraries else 'lib')
        os.makedirs(place)
        for library in set(libraries) & set(NAMES):
            shutil.copy(LIBRARIES[library], os.path.join(place, NAMES[library]))
        env = {key: value for key, value in os.environ.items() if not key.startswith(('CUDA_', 'FAKE_'))}
        env.update({'LD_LIBRARY_PATH': place, 'CF_DIAGNOSE_ROOT': folder, 'CF_DIAGNOSE_ARCHS': '',
                    'GST_REGISTRY': registry})
        if 'plugin' in libraries:
            shutil.copy(PLUGIN, os.path.join(place, 'libgstcudafilters.so'))
            env.update({'GST_PLUGIN_PATH': place, 'GST_REGISTRY': os.path.join(folder, 'registry')})
        command = [PROGRAM]
        if CLOSED in files.values() and os.getuid() == 0:
            os.chmod(folder, 0o755)
            command = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', PROGRAM]
        done = subprocess.run(command, env={**env, **settings}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        return ' '.join(done.stdout.split()) if done.returncode == 0 else f'status {done.returncode}: {done.stdout}'


def main():
    has_gpu = os.path.exists('/proc/driver/nvidia/version')
    has_nvcodec = not subprocess.run(['gst-inspect-1.0', 'nvcodec'], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, check=False).returncode
    cases = [] if has_gpu else CASES + (NVCODEC if has_nvcodec else [])
    failed = 0
    registry = tempfile.NamedTemporaryFile()  # GStreamer looks for its plugins once
    for name, files, libraries, settings, wanted, unwanted in cases:
        text = diagnose(files, libraries, settings, registry.name)
        wrong = [f'"{words}" is not said' for words in wanted if words not in text]
        wrong += [f'"{words}" is said' for words in unwanted if words in text]
        failed += bool(wrong)
        if wrong:
            print(f'FAIL {name}: {", ".join(wrong)}\n{text}')
    skipped = len(CASES) + len(NVCODEC) - len(cases)
    print(f'{len(cases) - failed} passed, {failed} failed, {skipped} skipped')
    return 77 if not cases else failed > 0


if __name__ == '__main__':
    sys.exit(main())
