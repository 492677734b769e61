import { isDeepStrictEqual } from 'node:util';
import { Leaf, List, plain, Table, type Node } from '../tree.js';

/**
 * Paths of the corpus into a composed result: keys with dots between them (quoted as in TOML when they have to be);
 * `[0]` a member by its place, `[storefront/desk.builder]` a member by its `qualified_name`, else its `name` (after its
 * `rig`, when it has one), and `[*]` all members, which gives a list.
 */
export function lookUp(node: Node | undefined, path: string): Node | undefined {
  return follow(node, stepsOf(path));
}

/** What is wrong with a line `path = JSON` or `path = absent`; undefined when it holds. */
export function mismatch(result: Node, line: string): string | undefined {
  const [path, wanted] = sides(line);
  const node = lookUp(result, path);
  if (wanted === 'absent') return node === undefined ? undefined : `${path} is there: ${show(node)}`;
  if (node === undefined) return `${path} is absent, not ${wanted}`;
  const same = isDeepStrictEqual(JSON.parse(JSON.stringify(plain(node), bigints)), JSON.parse(wanted));
  return same ? undefined : `${path} is ${show(node)}, not ${wanted}`;
}

/** What is wrong with a line `path = <file> <key>`; undefined when it holds. */
export function misplaced(result: Node, line: string): string | undefined {
  const [path, wanted] = sides(line);
  const node = lookUp(result, path);
  if (node === undefined) return `${path} is absent`;
  const place = `${node.origin.file} ${node.at}`.trim();
  return place === wanted ? undefined : `${path} comes from ${place}, not ${wanted}`;
}

function sides(line: string): [path: string, wanted: string] {
  const at = line.indexOf(' = ');
  if (at < 0) throw new Error(`not a line "path = value": ${line}`);
  return [line.slice(0, at), line.slice(at + 3).trim()];
}

interface Step {
  readonly key: string;
  readonly bracket: boolean;
}

function stepsOf(path: string): Step[] {
  const steps: Step[] = [];
  const token = /\.?(?:\[([^\]]*)\]|("(?:[^"\\]|\\.)*")|([^.["]+))/y;
  while (token.lastIndex < path.length) {
    const at = token.lastIndex;
    const found = token.exec(path);
    if (found === null) throw new Error(`not a path after ${at} characters: ${path}`);
    const [, bracket, quoted, bare] = found;
    const key = quoted === undefined ? (bracket ?? bare!) : (JSON.parse(quoted) as string);
    steps.push({ key, bracket: bracket !== undefined });
  }
  return steps;
}

function follow(node: Node | undefined, [step, ...rest]: readonly Step[]): Node | undefined {
  if (step === undefined) return node;
  const { key, bracket } = step;
  if (!bracket) return follow(node instanceof Table ? node.get(key) : undefined, rest);
  if (!(node instanceof List)) return undefined;
  if (key === '*')
    return new List(
      node.items.flatMap((item) => follow(item, rest) ?? []),
      node.origin,
      node.at,
    );
  return follow(/^\d+$/.test(key) ? node.items[Number(key)] : node.items.find((item) => isNamed(item, key)), rest);
}

function isNamed(node: Node, name: string): boolean {
  if (!(node instanceof Table)) return false;
  const rig = node.text('rig') ?? '';
  return (node.text('qualified_name') ?? (rig === '' ? '' : `${rig}/`) + (node.text('name') ?? '')) === name;
}

function show(node: Node): string {
  return node instanceof Leaf ? JSON.stringify(plain(node), bigints) : JSON.stringify(plain(node), bigints).slice(0, 2_000);
}

function bigints(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
