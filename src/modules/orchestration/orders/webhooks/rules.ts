import type { EffectiveHook, HookRule } from './webhook-definition.js';

/** What is known of a delivery beside its body. */
export interface Facts {
  readonly event: string | undefined;
  readonly delivery: string;
  /** Who has sent it, as far as that is known. */
  readonly identity: string;
}

/** Characters of one argument. */
const LONGEST = 8_192;
const PLACEHOLDER = /\{\{\s*([^{}\s]{1,300})\s*\}\}/g;

/** An argument that cannot be handed on. */
export class BadArgument extends Error {}

/** The first rule that a delivery fits, with its place. */
export function ruleFor({ rules }: EffectiveHook, body: unknown, { event }: Facts): { rule: HookRule; index: number } | undefined {
  const index = rules.findIndex(
    (rule) =>
      (rule.event === undefined || (event !== undefined && fits(rule.event, event))) &&
      Object.entries(rule.match).every(([path, wanted]) => {
        const found = textOf(valueAt(body, path));
        return found !== undefined && fits(wanted, found);
      }),
  );
  return index === -1 ? undefined : { rule: rules[index]!, index };
}

/**
 * The arguments of a rule with what the body says in them. What is not there is nothing. @throws BadArgument for one that is too
 * long, that no process can have, or that is a number which JSON's readers here would change
 */
export function argumentsOf({ args }: HookRule, body: unknown, facts: Facts): Record<string, string> {
  const filled: Record<string, string> = {};
  for (const [name, template] of Object.entries(args)) {
    let length = 0;
    const value = template.replace(PLACEHOLDER, (_, path: string) => {
      const text = said(name, path.startsWith('@') ? valueAt(facts, path.slice(1)) : valueAt(body, path));
      length += text.length;
      // Before it is put together: a template may name what is large again and again.
      if (length > LONGEST) throw new BadArgument(`the argument ${name} is longer than ${LONGEST} characters`);
      return text;
    });
    if (value.length > LONGEST) throw new BadArgument(`the argument ${name} is longer than ${LONGEST} characters`);
    if (value.includes('\0') || !value.isWellFormed()) throw new BadArgument(`the argument ${name} has characters that no text may have`);
    filled[name] = value;
  }
  return filled;
}

/** Own members only, and places of lists by their number. */
function valueAt(body: unknown, path: string): unknown {
  let at = body;
  for (const key of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}

function said(name: string, value: unknown): string {
  if (typeof value === 'number' && !Number.isSafeInteger(value) && Number.isInteger(value))
    throw new BadArgument(`the argument ${name} is a number that would be rounded`);
  const text = textOf(value);
  if (text !== undefined) return text;
  if (value === undefined || value === null) return '';
  const json = jsonOf(name, value);
  if (json.length > LONGEST) throw new BadArgument(`the argument ${name} is longer than ${LONGEST} characters`);
  return json;
}

/** The parser takes a megabyte of brackets in brackets; what writes them does not. */
function jsonOf(name: string, value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new BadArgument(`the argument ${name} is nested too deeply`, { cause });
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/** A text with `*` for anything. Takes time in proportion to what is compared. */
function fits(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === text;
  const last = rest.pop()!;
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= text.length - last.length;
}
