import { parse } from 'smol-toml';
import { isTable, same, type TomlTable } from './equal.js';
import { Surgery } from './surgery.js';

/** No way was found to write what is desired. */
export class TomlEditError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TomlEditError';
  }
}

const BOM = '\ufeff';

/**
 * A TOML text that says `desired`: what the text says already stays as it is written, with its comments. Members that
 * are undefined count as absent. The answer has been parsed and compared.
 * @throws TomlEditError
 * @throws TomlError when the text is not TOML
 */
export function editToml(text: string, desired: Record<string, unknown>): string {
  const present = parse(text);
  const wanted = without(desired) as TomlTable;
  if (same(present, wanted)) return text;
  const head = text.startsWith(BOM) ? BOM : '';
  const body = text.slice(head.length);
  for (const way of [piecewise, byTopLevelKey]) {
    const edited = attempt(way, body, present, wanted);
    if (edited !== undefined) return head + edited;
  }
  throw new TomlEditError('the text cannot be changed to say what is desired');
}

type Way = (surgery: Surgery, present: TomlTable, desired: TomlTable) => void;

function piecewise(surgery: Surgery, present: TomlTable, desired: TomlTable): void {
  surgery.change([], present, desired);
}

/** Writes whatever differs anew. Comments inside it are lost, those around it are not. */
function byTopLevelKey(surgery: Surgery, present: TomlTable, desired: TomlTable): void {
  for (const key of new Set([...Object.keys(present), ...Object.keys(desired)])) {
    if (Object.hasOwn(present, key) && Object.hasOwn(desired, key) && same(present[key], desired[key])) continue;
    if (Object.hasOwn(present, key)) surgery.remove([key]);
    if (Object.hasOwn(desired, key)) surgery.add([], key, desired[key]);
  }
}

/** What a way makes of a text when that says what is desired. */
function attempt(way: Way, text: string, present: TomlTable, desired: TomlTable): string | undefined {
  try {
    const surgery = new Surgery(text);
    way(surgery, present, desired);
    const edited = surgery.result();
    return edited !== undefined && same(parse(edited), desired) ? edited : undefined;
  } catch (error) {
    // A text that the parser of positions does not take, or a result that is not TOML, is a way that does not lead there.
    if (error instanceof TomlEditError) throw error;
    return undefined;
  }
}

function without(value: unknown): unknown {
  if (value === null || !['object', 'string', 'number', 'boolean'].includes(typeof value))
    throw new TomlEditError('a value has no form in TOML');
  if (Array.isArray(value)) return value.map(without);
  if (!isTable(value)) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  if (entries.some(([key]) => key === '__proto__')) throw new TomlEditError('a key cannot be named __proto__');
  return Object.fromEntries(entries.map(([key, member]) => [key, without(member)]));
}
