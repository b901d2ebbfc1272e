#!/usr/bin/env python3
"""Checks that the modules of a crate have no circular dependencies, except between a module and its submodules.

Compares the children of each module: one depends on another if any of its files uses an item of the other, by path or through a
re-export of their parent. Modules in a circle can only be read and tested together. Tests are exempt.

  check_circles.py            check all crates
  check_circles.py --why A B  list all uses in crate A that cause the circle with module B
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|r(#*)\".*?\"\1|b?\"(?:\\.|[^\"\\])*\"|'(?:\\.[^']*|[^'\\])'|'[A-Za-z_]\w*"
    r"|[A-Za-z_]\w*|::|\d[\w.]*|\S",
    re.DOTALL,
)


def tokens(text):
    """The tokens of a source file with their line numbers, without comments and strings."""
    found, line, seen = [], 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        token = match.group()
        if not token.startswith(("//", "/*", '"', "'", 'b"')) and not re.match(r'r#*"', token):
            found.append((token, line))
    return found


def without_tests(found):
    """Removes items after `#[cfg(test)]`, up to the end of the block or statement."""
    kept, at = [], 0
    words = [token for token, _ in found]
    while at < len(found):
        if words[at : at + 7] == ["#", "[", "cfg", "(", "test", ")", "]"]:
            at += 7
            depth = 0
            while at < len(found):
                word = words[at]
                depth += word in "{([" if len(word) == 1 else 0
                depth -= word in "})]" if len(word) == 1 else 0
                at += 1
                if depth == 0 and word in (";", "}"):
                    break
            continue
        kept.append(found[at])
        at += 1
    return kept


def use_tree(found, at):
    """Parses a `use` statement: returns its paths with the names they introduce, and its end."""
    paths = []

    def tree(at, prefix):
        path = list(prefix)
        while at < len(found):
            word = found[at][0]
            if word == "{":
                at += 1
                while at < len(found) and found[at][0] != "}":
                    at = tree(at, path)
                    if at < len(found) and found[at][0] == ";":
                        return at
                    if at < len(found) and found[at][0] == ",":
                        at += 1
                return at + 1
            if word == "::":
                at += 1
                continue
            if word == "as":
                paths.append((path, found[at + 1][0]))
                return at + 2
            if word in (",", ";", "}"):
                paths.append((path[:-1] if path and path[-1] == "self" else path, None))
                return at
            path.append(word)
            at += 1
        return at

    end = tree(at, [])
    return [(path, name or (path[-1] if path else "")) for path, name in paths], end


class Module:
    def __init__(self, path, file):
        self.path, self.file = path, file
        self.names = {}
        self.paths = []


def modules(crate):
    """The modules of a crate that are files, by path."""
    source = ROOT / crate / "src"
    found = {}
    for file in sorted(source.rglob("*.rs")):
        parts = list(file.relative_to(source).with_suffix("").parts)
        if parts[0] == "bin" or "tests" in parts:
            continue
        if parts[-1] in ("mod", "lib", "main"):
            parts.pop()
        found[tuple(parts)] = Module(tuple(parts), file)
    for module in found.values():
        read(module)
    return found


def read(module):
    found = without_tests(tokens(module.file.read_text()))
    at = 0
    while at < len(found):
        word, line = found[at]
        if word == "use":
            paths, at = use_tree(found, at + 1)
            for path, name in paths:
                module.paths.append((path, line))
                module.names[name] = path
            continue
        follows = at > 0 and found[at - 1][0] == "::"
        if re.match(r"[A-Za-z_]", word) and not follows and at + 1 < len(found) and found[at + 1][0] == "::":
            path = [word]
            while at + 2 < len(found) and found[at + 1][0] == "::" and re.match(r"[A-Za-z_]", found[at + 2][0]):
                path.append(found[at + 2][0])
                at += 2
            module.paths.append((path, line))
        at += 1


def resolve(all_modules, module, path, depth=0):
    """The module that a path in `module` refers to; `None` if it is in another crate."""
    if not path or depth > 8:
        return None
    here, rest = module.path, list(path)
    if rest[0] == "crate":
        here, rest = (), rest[1:]
    elif rest[0] == "self":
        rest = rest[1:]
    elif rest[0] == "super":
        while rest and rest[0] == "super":
            here, rest = here[:-1], rest[1:]
    elif here + (rest[0],) not in all_modules:
        known = module.names.get(rest[0])
        if known is None or known == path or known[0] == rest[0]:
            return None
        return resolve(all_modules, module, known + rest[1:], depth + 1)
    while rest:
        step = here + (rest[0],)
        if step in all_modules:
            here, rest = step, rest[1:]
            continue
        # A re-exported name, mostly from a child.
        known = all_modules[here].names.get(rest[0]) if here in all_modules else None
        if known is not None and list(known) != list(path):
            further = resolve(all_modules, all_modules[here], known, depth + 1)
            return here if further is None else further
        break
    return here


def needs(crate):
    """Dependencies between children, by parent: uses by (child, other)."""
    all_modules = modules(crate)
    edges = {}
    for module in all_modules.values():
        for path, line in module.paths:
            target = resolve(all_modules, module, path)
            if target is None or target == module.path:
                continue
            shared = 0
            while shared < min(len(target), len(module.path)) and target[shared] == module.path[shared]:
                shared += 1
            # A module and its submodules may depend on each other.
            if shared in (len(target), len(module.path)):
                continue
            edge = (module.path[shared], target[shared])
            place = f"{module.file.relative_to(ROOT)}:{line} names {'::'.join(path)}"
            edges.setdefault(module.path[:shared], {}).setdefault(edge, []).append(place)
    return edges


def circles(edges):
    """Groups of children with circular dependencies (Tarjan's strongly connected components)."""
    graph = {}
    for a, b in edges:
        graph.setdefault(a, set()).add(b)
        graph.setdefault(b, set())
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = []
            while True:
                group.append(stack.pop())
                if group[-1] == node:
                    break
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def crates():
    return sorted(str(path.parent.relative_to(ROOT)) for path in ROOT.glob("crates/*/*/Cargo.toml"))


def every_circle(only=None):
    """Every circle as a line, with the uses that cause it."""
    found = {}
    for crate in crates():
        name = crate.removeprefix("crates/")
        if only in (None, name):
            for parent, edges in sorted(needs(crate).items()):
                for group in circles(edges):
                    within = {edge: places for edge, places in edges.items() if edge[0] in group and edge[1] in group}
                    found[f"{'::'.join([name, *parent])}: {', '.join(group)}"] = within
    return found


def show(line, edges, every):
    print(f"check_circles: circular dependency: {line}", file=sys.stderr)
    for (a, b), places in sorted(edges.items()):
        shown = places if every else places[:1]
        more = "" if len(shown) == len(places) else f" and {len(places) - len(shown)} more"
        print(f"  {a} -> {b}: {'; '.join(shown)}{more}", file=sys.stderr)


def main(arguments):
    if arguments[:1] == ["--why"]:
        crate, *others = arguments[1:]
        for line, edges in every_circle(crate).items():
            if not others or others[0] in {child for edge in edges for child in edge}:
                show(line, edges, True)
        return 0
    found = every_circle()
    for line, edges in found.items():
        show(line, edges, False)
    if not found:
        print(f"check_circles: {len(crates())} crates, no circular dependencies")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
