#!/usr/bin/env python3
"""Checks that modules of a crate do not depend on each other in cycles, except for a module and its children.

The check compares the children of each module: a child depends on another child if any of its files names an item of the
other, by path or through a re-export of the parent. Modules in a cycle cannot be read or tested without each other. Tests are
excluded: they may use everything.

  check_circles.py            check all crates
  check_circles.py --why A B  list all places in crate A that cause the cycle with module B
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
    """Returns the tokens of a source file with their lines, without comments and string literals."""
    result, line, counted_until = [], 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", counted_until, match.start())
        counted_until = match.start()
        token = match.group()
        if not token.startswith(("//", "/*", '"', "'", 'b"')) and not re.match(r'r#*"', token):
            result.append((token, line))
    return result


def without_tests(token_lines):
    """Drops each item after `#[cfg(test)]`, up to the end of its block or statement."""
    kept, index = [], 0
    tokens_only = [token for token, _ in token_lines]
    while index < len(token_lines):
        if tokens_only[index : index + 7] == ["#", "[", "cfg", "(", "test", ")", "]"]:
            index += 7
            depth = 0
            while index < len(token_lines):
                token = tokens_only[index]
                depth += token in "{([" if len(token) == 1 else 0
                depth -= token in "})]" if len(token) == 1 else 0
                index += 1
                if depth == 0 and token in (";", "}"):
                    break
            continue
        kept.append(token_lines[index])
        index += 1
    return kept


def use_tree(token_lines, index):
    """Returns the paths of a `use`, each with the name that it introduces, and the index of its end."""
    paths = []

    def tree(index, prefix):
        path = list(prefix)
        while index < len(token_lines):
            word = token_lines[index][0]
            if word == "{":
                index += 1
                while index < len(token_lines) and token_lines[index][0] != "}":
                    index = tree(index, path)
                    if index < len(token_lines) and token_lines[index][0] == ";":
                        return index
                    if index < len(token_lines) and token_lines[index][0] == ",":
                        index += 1
                return index + 1
            if word == "::":
                index += 1
                continue
            if word == "as":
                paths.append((path, token_lines[index + 1][0]))
                return index + 2
            if word in (",", ";", "}"):
                paths.append((path[:-1] if path and path[-1] == "self" else path, None))
                return index
            path.append(word)
            index += 1
        return index

    end = tree(index, [])
    return [(path, name or (path[-1] if path else "")) for path, name in paths], end


class Module:
    def __init__(self, path, file):
        self.path, self.file = path, file
        self.names = {}
        self.paths = []


def modules(crate):
    """Returns the modules of a crate that have their own file, by path."""
    source = ROOT / crate / "src"
    result = {}
    for file in sorted(source.rglob("*.rs")):
        parts = list(file.relative_to(source).with_suffix("").parts)
        if parts[0] == "bin" or "tests" in parts:
            continue
        if parts[-1] in ("mod", "lib", "main"):
            parts.pop()
        result[tuple(parts)] = Module(tuple(parts), file)
    for module in result.values():
        read(module)
    return result


def read(module):
    token_lines = without_tests(tokens(module.file.read_text()))
    index = 0
    while index < len(token_lines):
        word, line = token_lines[index]
        if word == "use":
            paths, index = use_tree(token_lines, index + 1)
            for path, name in paths:
                module.paths.append((path, line))
                module.names[name] = path
            continue
        is_continued = index > 0 and token_lines[index - 1][0] == "::"
        if re.match(r"[A-Za-z_]", word) and not is_continued and index + 1 < len(token_lines) and token_lines[index + 1][0] == "::":
            path = [word]
            while index + 2 < len(token_lines) and token_lines[index + 1][0] == "::" and re.match(r"[A-Za-z_]", token_lines[index + 2][0]):
                path.append(token_lines[index + 2][0])
                index += 2
            module.paths.append((path, line))
        index += 1


def resolve(all_modules, module, path, depth=0):
    """Returns the module that a path in `module` refers to; `None` for another crate."""
    if not path or depth > 8:
        return None
    current, remaining = module.path, list(path)
    if remaining[0] == "crate":
        current, remaining = (), remaining[1:]
    elif remaining[0] == "self":
        remaining = remaining[1:]
    elif remaining[0] == "super":
        while remaining and remaining[0] == "super":
            current, remaining = current[:-1], remaining[1:]
    elif current + (remaining[0],) not in all_modules:
        imported = module.names.get(remaining[0])
        if imported is None or imported == path or imported[0] == remaining[0]:
            return None
        return resolve(all_modules, module, imported + remaining[1:], depth + 1)
    while remaining:
        child = current + (remaining[0],)
        if child in all_modules:
            current, remaining = child, remaining[1:]
            continue
        # A name that the module imports, mostly from its children.
        imported = all_modules[current].names.get(remaining[0]) if current in all_modules else None
        if imported is not None and list(imported) != list(path):
            target = resolve(all_modules, all_modules[current], imported, depth + 1)
            return current if target is None else target
        break
    return current


def dependencies(crate):
    """Returns the dependencies between children by parent, each with its places by (child, dependency)."""
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
            # A module and its descendants may depend on each other.
            if shared in (len(target), len(module.path)):
                continue
            edge = (module.path[shared], target[shared])
            place = f"{module.file.relative_to(ROOT)}:{line} names {'::'.join(path)}"
            edges.setdefault(module.path[:shared], {}).setdefault(edge, []).append(place)
    return edges


def cycles(edges):
    """Returns the cycles between children (Tarjan's strongly connected components)."""
    graph = {}
    for a, b in edges:
        graph.setdefault(a, set()).add(b)
        graph.setdefault(b, set())
    index, low, stack, groups = {}, {}, [], []

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
                groups.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return groups


def crates():
    return sorted(str(path.parent.relative_to(ROOT)) for path in ROOT.glob("crates/*/*/Cargo.toml"))


def all_cycles(selected_crate=None):
    """Returns all cycles as text, with the dependencies that cause them."""
    result = {}
    for crate in crates():
        name = crate.removeprefix("crates/")
        if selected_crate in (None, name):
            for parent, edges in sorted(dependencies(crate).items()):
                for group in cycles(edges):
                    edges_inside = {edge: places for edge, places in edges.items() if edge[0] in group and edge[1] in group}
                    result[f"{'::'.join([name, *parent])}: {', '.join(group)}"] = edges_inside
    return result


def show(cycle, edges, all_places):
    print(f"check_circles: {cycle} depend on each other", file=sys.stderr)
    for (a, b), places in sorted(edges.items()):
        shown = places if all_places else places[:1]
        remaining = "" if len(shown) == len(places) else f" and {len(places) - len(shown)} more"
        print(f"  {a} -> {b}: {'; '.join(shown)}{remaining}", file=sys.stderr)


def main(arguments):
    if arguments[:1] == ["--why"]:
        crate, *others = arguments[1:]
        for cycle, edges in all_cycles(crate).items():
            if not others or others[0] in {child for edge in edges for child in edge}:
                show(cycle, edges, True)
        return 0
    found = all_cycles()
    for cycle, edges in found.items():
        show(cycle, edges, False)
    if not found:
        print(f"check_circles: {len(crates())} crates, no cycles")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
