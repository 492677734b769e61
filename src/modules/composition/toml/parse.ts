import { parse, TomlError } from 'smol-toml';
import type { Issue } from '../issue.js';
import { join } from '../tree.js';

/** Bytes of UTF-8 that a file may have. */
export const FILE_BYTES = 1024 * 1024;
/** Tables and lists inside each other. */
const DEPTH = 32;
/** Values and tables of one file: what is done for each of them stays bounded. */
const VALUES = 100_000;

export type Document = Readonly<Record<string, unknown>>;

/**
 * Parses one file. Its objects have no prototype. What cannot be used as a whole (not TOML, too large, too deep, a
 * text that no database stores) is pushed as an error, and the answer is undefined.
 */
export function parseToml(text: string, file: string, issues: Issue[]): Document | undefined {
  const refuse = (message: string, line?: number, key = ''): undefined => {
    issues.push({ severity: 'error', file, ...(line === undefined ? {} : { line }), key, message });
  };
  if (text.length > FILE_BYTES || Buffer.byteLength(text) > FILE_BYTES) return refuse(`is larger than ${FILE_BYTES} bytes`);
  try {
    const document = parse(text, { maxDepth: DEPTH });
    const fault = faultOf(document);
    return fault === undefined ? document : refuse(fault.message, undefined, fault.key);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    return refuse(`line ${error.line}, column ${error.column}: ${reasonOf(error)}`, error.line);
  }
}

/** The parser's words without the lines of the file that it quotes: they may hold secrets. */
function reasonOf(error: TomlError): string {
  return /^Invalid TOML document: ([^\n]*)/.exec(error.message)?.[1] ?? 'is not TOML';
}

interface Fault {
  readonly key: string;
  readonly message: string;
}

/** The first thing in a parsed document that makes it unusable. */
function faultOf(document: object): Fault | undefined {
  let values = 0;
  const look = (value: unknown, path: string, depth: number): Fault | undefined => {
    if (++values > VALUES) return { key: '', message: `holds more than ${VALUES} values` };
    if (typeof value === 'string') return isStorable(value) ? undefined : { key: path, message: NOT_STORABLE };
    if (typeof value !== 'object' || value === null || value instanceof Date) return undefined;
    if (depth === DEPTH) return { key: '', message: `has more than ${DEPTH} tables and lists inside each other` };
    if (Array.isArray(value)) return first(value, (item, n) => look(item, `${path}[${n}]`, depth + 1));
    return first(Object.keys(value), (key) => {
      if (key === '__proto__') return { key: path, message: 'a key cannot be named __proto__' };
      if (!isStorable(key)) return { key: path, message: `has a key that ${NOT_STORABLE}` };
      return look((value as Document)[key], join(path, key), depth + 1);
    });
  };
  return look(document, '', 0);
}

const NOT_STORABLE = 'contains a NUL or half a surrogate pair';

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function first<T>(items: readonly T[], find: (item: T, n: number) => Fault | undefined): Fault | undefined {
  for (const [n, item] of items.entries()) {
    const fault = find(item, n);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
