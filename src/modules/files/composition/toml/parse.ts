import { parse, TomlError } from 'smol-toml';
import { tomlFault } from '../../../../platform/config/toml-fault.js';
import type { Issue } from '../issue.js';
import { dotted } from './path.js';

/** Bytes of UTF-8 that a file may have. Measured: the dearest text of this size takes 0.1 s to parse, and 0.4 s to edit. */
export const FILE_BYTES = 256 * 1024;
/** Characters of a text. The parser that knows where things stand overflows the stack at twice as many. */
const TEXT_LENGTH = 64 * 1024;
/** Characters of the name of one key. */
const KEY_LENGTH = 1_000;
/** Tables and lists inside each other. */
const DEPTH = 32;
/** Values and tables of one file: what is done for each of them stays bounded. */
const VALUES = 20_000;

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
    return fault === undefined ? document : refuse(fault.message, undefined, dotted(fault.path));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    return refuse(tomlFault(error), error.line);
  }
}

interface Fault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** The first thing in a parsed document that makes it unusable. Every file pays for this walk, so places are only put together for a fault. */
function faultOf(document: Document): Fault | undefined {
  let values = 0;
  const inTable = (table: Document, depth: number): Fault | undefined => {
    if (depth > DEPTH) return { path: [], message: `has more than ${DEPTH} tables and lists inside each other` };
    for (const key in table) {
      if (key.length > KEY_LENGTH) return { path: [], message: `has a key that is longer than ${KEY_LENGTH} characters` };
      if (key === '__proto__') return { path: [], message: 'a key cannot be named __proto__' };
      if (!isStorable(key)) return { path: [], message: `has a key that ${NOT_STORABLE}` };
      const fault = inValue(table[key], depth);
      if (fault !== undefined) return { ...fault, path: [key, ...fault.path] };
    }
    return undefined;
  };
  const inList = (list: readonly unknown[], depth: number): Fault | undefined => {
    if (depth > DEPTH) return { path: [], message: `has more than ${DEPTH} tables and lists inside each other` };
    for (let n = 0; n < list.length; n++) {
      const fault = inValue(list[n], depth);
      if (fault !== undefined) return { ...fault, path: [n, ...fault.path] };
    }
    return undefined;
  };
  const inValue = (value: unknown, depth: number): Fault | undefined => {
    if (++values > VALUES) return { path: [], message: `is one of more than ${VALUES} values` };
    if (typeof value === 'string') {
      if (value.length > TEXT_LENGTH) return { path: [], message: `is longer than ${TEXT_LENGTH} characters: a file can hold it` };
      return isStorable(value) ? undefined : { path: [], message: NOT_STORABLE };
    }
    if (typeof value !== 'object' || value === null || value instanceof Date) return undefined;
    return Array.isArray(value) ? inList(value, depth + 1) : inTable(value as Document, depth + 1);
  };
  return inTable(document, 0);
}

const NOT_STORABLE = 'contains a NUL or half a surrogate pair';

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
