import { createHash } from 'node:crypto';
import { parse } from 'smol-toml';
import { PRESETS } from '../presets/presets.js';
import { join, Leaf, List, plain, Table, type Node } from '../tree.js';

export interface FoundLeaf {
  readonly path: string;
  /** A scalar, or an empty list or table. */
  readonly node: Node;
  /** Whether it belongs to an agent that a provider brings. */
  readonly implicit: boolean;
}

/** Every leaf of a result, as `placesOf` counts them. */
export function leavesOf(node: Node, path = '', implicit = false): FoundLeaf[] {
  if (node instanceof List && node.items.length > 0) return node.items.flatMap((item, n) => leavesOf(item, `${path}[${n}]`, implicit));
  if (!(node instanceof Table) || node.entries.size === 0) return [{ path, node, implicit }];
  const brought = implicit || node.text('origin') === 'implicit';
  return [...node.entries].flatMap(([key, member]) => leavesOf(member, join(path, key), brought));
}

/** Where values stand that nobody wrote: paths without their numbers. */
const NOT_WRITTEN = [
  /^workspace\.(name|prefix|suspended_on_start)$/,
  /^agents\[]\.(qualified_name|name|dir|binding|origin|source|source_dir|pack|prompt_file|(overlay|setup_script)_(file|sha256))$/,
  /^named_sessions\[]\.(qualified_name|name|dir|binding|mode|template|pack)$/,
  /^rigs\[]\.(prefix|suspended_on_start)$/,
  /^(imports|default_rig_imports|rigs\[]\.imports)\.[^.]+\.(commit|resolved_version|pack)$/,
  /^formula_folders\[]\.(rig|folders\[])$/,
  /^formulas\[]\.type$/,
  /^formulas\[]\.shadows\[]\.(file|pack)$/,
  /^(formulas|order_files|commands|doctor_checks|mcp_servers|overlays)\[]\.(name|rig|file|sha256|pack)$/,
  /^service\[]\.(kind|publish_mode|state_root|pack|source_dir)$/,
  /^webhook\[]\.rig$/,
  /^global\[]\.(rig|source_dir)$/,
];

/** What a provider gives an agent that nobody defined. */
const IMPLICIT = /^agents\[]\.(provider|default_sling_formula)$/;

/** Tables and lists that hold nothing because nothing was written. */
const EMPTY = [
  /^(providers|resolved_providers|upstreams|imports|default_rig_imports|rigs\[]\.imports|runtimes|contents)$/,
  /^(agents|named_sessions|rigs|formulas|formula_folders|order_files|commands|doctor_checks|mcp_servers|overlays|service|webhook|pricing|global|patches\.[a-z_]+)$/,
];

/** Answers whether a leaf's source holds its value. */
export class Sources {
  readonly #documents = new Map<string, unknown>();

  /** @param textOf the text of a file by the name that origins have for it */
  constructor(private readonly textOf: (file: string) => string | undefined) {}

  /** What is wrong with where a leaf says that it comes from; undefined when its source really holds its value. */
  doubt({ path, node, implicit }: FoundLeaf): string | undefined {
    const { file } = node.origin;
    const told = `${path} comes from ${file} ${node.at}`;
    if (file === 'default' || file === 'derived') {
      const general = path.replaceAll(/\[\d+]/g, '[]');
      const allowed = node instanceof Leaf ? (implicit ? [...NOT_WRITTEN, IMPLICIT] : NOT_WRITTEN) : EMPTY;
      return allowed.some((pattern) => pattern.test(general)) ? undefined : `${told}, though it is not a value that nobody writes`;
    }
    if (path.startsWith('contents.')) return this.#hashOf(file) === plain(node) ? undefined : `${told}, which has another hash`;
    const source = this.#sourceOf(file);
    if (source === undefined) return `${told}, which is no file`;
    if (typeof source === 'string') {
      const held = node instanceof Leaf && source.split('\n').some((line) => line.trim() === node.value);
      return held ? undefined : `${told}, which has no such line`;
    }
    const held = valueAt(source, node.at);
    return held === undefined ? `${told}, where nothing is` : isHeld(node, held, path) ? undefined : `${told}, where something else is`;
  }

  #hashOf(file: string): string | undefined {
    const text = this.textOf(file);
    return text === undefined ? undefined : createHash('sha256').update(text).digest('hex');
  }

  #sourceOf(file: string): unknown {
    if (this.#documents.has(file)) return this.#documents.get(file);
    const preset = /^builtin:([^:]+)$/.exec(file)?.[1];
    const text = this.textOf(file);
    const source = preset !== undefined ? PRESETS[preset] : text === undefined || !file.endsWith('.toml') ? text : parse(text);
    this.#documents.set(file, source);
    return source;
  }
}

/** Prefixes are in lower case in the result; a list or table that is empty may have lost its members to a patch. */
function isHeld(node: Node, held: unknown, path: string): boolean {
  if (!(node instanceof Leaf)) return typeof held === 'object' && held !== null && Array.isArray(held) === node instanceof List;
  const value = held instanceof Date ? held.toISOString() : held;
  return value === plain(node) || (/(^|\.)prefix$/.test(path) && typeof value === 'string' && value.toLowerCase() === node.value);
}

function valueAt(document: unknown, at: string): unknown {
  let value = document;
  const token = /\.?(?:\[(\d+)\]|("(?:[^"\\]|\\.)*")|([^.["]+))/y;
  while (token.lastIndex < at.length) {
    const found = token.exec(at);
    if (found === null) throw new Error(`not a key: ${at}`);
    const key = found[1] ?? (found[2] === undefined ? found[3]! : (JSON.parse(found[2]) as string));
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}
