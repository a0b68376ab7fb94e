# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
"""Lists single faults in C files and their headers, as people make them, from the syntax tree.

    operator    a < b to a <= b, a + b to a - b, a && b to a || b, a |= b to a &= b and the like
    constant    n to n + 1, TRUE to FALSE
    condition   if (c) to if (!(c)), in loops and ?: as well
    call        a call whose result is not used is dropped
    assignment  a statement a = b is dropped
    return      a function computes its result, but returns TRUE or CF_OK
"""
import collections
import hashlib
import json
import os
import re
import shlex

from clang.cindex import CursorKind, Index

KINDS = ('operator', 'constant', 'condition', 'call', 'assignment', 'return')
OPERATORS = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '==', '+': '-', '-': '+', '*': '+',
             '/': '*', '%': '/', '&&': '||', '||': '&&', '<<': '>>', '>>': '<<', '&': '|', '|': '&', '^': '|',
             '+=': '-=', '-=': '+=', '*=': '+=', '|=': '&=', '&=': '|=', '<<=': '>>=', '>>=': '<<='}
CONSTANTS = {'TRUE': 'FALSE', 'FALSE': 'TRUE', 'true': 'false', 'false': 'true'}
BRANCHES = (CursorKind.IF_STMT, CursorKind.WHILE_STMT, CursorKind.CONDITIONAL_OPERATOR)
# Logs, annotations, and halves of a pair: without them nothing is different, or all tests hang.
IGNORED = re.compile(r'GST_(DEBUG|LOG|INFO|TRACE|MEMDUMP)|\w*_(un)?lock|GST_\w*LOCK|g_return_|\(void\)|static_assert')

# name: file, function, kind and a number made of the line's text, so that it stays while other lines change.
Mutant = collections.namedtuple('Mutant', 'name kind file line begin end old new')


class Finder:
    """The mutants of one file, from the syntax tree of a source that is or includes it."""

    def __init__(self, tree, path):
        self.path = path
        with open(os.path.join(tree, path), 'rb') as file:
            self.text = file.read()
        self.found = {}

    def add(self, kind, function, begin, end, new):
        first = self.text.rfind(b'\n', 0, begin) + 1
        line = self.text[first:self.text.find(b'\n', begin)].decode()
        self.found.setdefault((begin, end, kind),
                              (kind, function, self.text.count(b'\n', 0, begin) + 1, line.strip(),
                               self.text[begin:end].decode(), new))

    def text_of(self, cursor):
        return self.text[cursor.extent.start.offset:cursor.extent.end.offset].decode()

    def wrong(self, cursor, function, result):
        """Adds what can be wrong about one cursor itself."""
        children, text = list(cursor.get_children()), self.text_of(cursor)
        begin, end = cursor.extent.start.offset, cursor.extent.end.offset
        if cursor.kind in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR) and len(children) == 2:
            first, last = children[0].extent.end.offset, children[1].extent.start.offset
            between = self.text[first:last].decode()
            if between.strip() in OPERATORS:
                at = first + len(between) - len(between.lstrip())
                self.add('operator', function, at, at + len(between.strip()), OPERATORS[between.strip()])
        elif cursor.kind == CursorKind.INTEGER_LITERAL and (text in CONSTANTS or re.fullmatch(r'\d+u?', text)):
            self.add('constant', function, begin, end, CONSTANTS.get(text) or str(int(text.rstrip('u')) + 1))
        elif cursor.kind in BRANCHES and children and self.text_of(children[0]):
            at = children[0].extent
            self.add('condition', function, at.start.offset, at.end.offset, f'!({self.text_of(children[0])})')
        elif cursor.kind == CursorKind.RETURN_STMT and children:
            value = self.text_of(children[0])
            good = 'CF_OK' if result == 'CfCode' else 'TRUE' if result in ('gboolean', 'bool', '_Bool') else None
            if good and value not in (good, good.lower(), *CONSTANTS):
                at = children[0].extent
                good = good.lower() if result != 'gboolean' and good == 'TRUE' else good
                self.add('return', function, at.start.offset, at.end.offset, f'((void) ({value}), {good})')

    def statement(self, cursor, function):
        """Adds the statement's absence."""
        text = self.text_of(cursor)
        begin, end = cursor.extent.start.offset, cursor.extent.end.offset
        if self.text[end:end + 1] != b';' or IGNORED.match(text):
            return
        if cursor.kind == CursorKind.CALL_EXPR and '(' in text:
            self.add('call', function, begin, end, '(void) 0')
        elif cursor.kind == CursorKind.BINARY_OPERATOR and re.match(r'[^=(]+ = ', text):
            self.add('assignment', function, begin, end, '(void) 0')

    def walk(self, cursor, function, result):
        children = list(cursor.get_children())
        for i, child in enumerate(children):
            body = cursor.kind == CursorKind.COMPOUND_STMT or (i > 0 and cursor.kind in (
                CursorKind.IF_STMT, CursorKind.WHILE_STMT)) or (
                    cursor.kind in (CursorKind.FOR_STMT, CursorKind.CASE_STMT, CursorKind.DEFAULT_STMT)
                    and i + 1 == len(children))
            if body:
                self.statement(child, function)
            self.wrong(child, function, result)
            self.walk(child, function, result)

    def mutants(self):
        numbers = collections.Counter()
        for (begin, end, _), (kind, function, line, text, old, new) in sorted(self.found.items()):
            number = hashlib.sha1(f'{text} {old} {new}'.encode()).hexdigest()[:6]
            numbers[function, kind, number] += 1
            if numbers[function, kind, number] > 1:
                number += f'.{numbers[function, kind, number]}'
            yield Mutant(f'{self.path}:{function}:{kind}:{number}', kind, self.path, line, begin, end, old, new)


def find(tree, build, folders):
    """Returns all mutants of the functions in the C files of these folders of the tree, and in the headers that they
    include. A template makes other functions in each file that includes it, a plain header the same ones."""
    finders, seen, index = {}, set(), Index.create()  # seen: sources, and functions of plain headers
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as file:
        commands = json.load(file)
    for command in commands:
        source = os.path.realpath(os.path.join(command['directory'], command['file']))
        path = os.path.relpath(source, tree)
        if not path.startswith(folders) or path in seen:
            continue
        seen.add(path)
        os.chdir(command['directory'])
        args = [arg for arg in shlex.split(command['command']) if re.match('-[DIm]|-std', arg)]
        unit = index.parse(source, args)
        for function in unit.cursor.get_children():
            if function.kind != CursorKind.FUNCTION_DECL or not function.is_definition():
                continue
            file = os.path.relpath(os.path.realpath(function.location.file.name), tree)
            if not file.startswith(folders) or (file, function.spelling) in seen:
                continue
            if file.endswith('.h') and not file.endswith('_tmpl.h'):
                seen.add((file, function.spelling))
            if file not in finders:
                finders[file] = Finder(tree, file)
            finders[file].walk(function, function.spelling, function.result_type.spelling)
    return [mutant for file in sorted(finders) for mutant in finders[file].mutants()]
