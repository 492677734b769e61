import { LIMITS, TooMuch } from './limits.js';

/** `{{name}}`: a variable of the formula. */
const DOUBLE = /\{\{([A-Za-z_]\w*)\}\}/g;
/** `{name}` and `{name.field}`, and `{{name}}` beside them: of a loop, an expansion, or an item. */
const EITHER = /\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)((?:\.[A-Za-z0-9_]+)*)\}/g;
/** What is known only while a run goes on, one round or item at a time. */
const IN_ROUNDS = /\{(?:iteration|index|item(?:\.[A-Za-z0-9_]+)*)\}/;

/** Counts what is put into a text, so that no text grows out of memory. */
function counted(value: (name: string) => string | undefined): (name: string) => string | undefined {
  let grown = 0;
  return (name) => {
    const found = value(name);
    grown += found?.length ?? 0;
    if (grown > LIMITS.text) throw new TooMuch(`the formula makes a text of more than ${LIMITS.text} characters`);
    return found;
  };
}

/** The names of `{{name}}` in a text. */
export function namesIn(text: string): string[] {
  return Array.from(text.matchAll(DOUBLE), ([, name]) => name!);
}

/** Whether a value would be taken for a placeholder where it is put. */
export function looksLikePlaceholder(value: string): boolean {
  return namesIn(value).length > 0 || IN_ROUNDS.test(value);
}

/** The words in a text that only a round or an item replaces. */
export function roundsIn(text: string): string[] {
  return text.match(new RegExp(IN_ROUNDS, 'g')) ?? [];
}

/** Replaces `{{name}}`, each once: what comes in is not looked at again. Names without a value stay. */
export function withVars(text: string, value: (name: string) => string | undefined): string {
  if (!text.includes('{{')) return text;
  const known = counted(value);
  return text.replace(DOUBLE, (all, name: string) => known(name) ?? all);
}

/** Replaces `{name}` and, where the name is known, `{{name}}`. @param value of a name with its fields, such as `target.id` */
export function withLocals(text: string, value: (name: string) => string | undefined): string {
  if (!text.includes('{')) return text;
  const known = counted(value);
  return text.replace(EITHER, (all, double: string | undefined, name: string | undefined, fields: string | undefined) =>
    double === undefined ? (known(`${name}${fields}`) ?? all) : (known(double) ?? all),
  );
}

/** The names of `{name}` and `{name.field}` in a text, `{{name}}` left out. */
export function localsIn(text: string): string[] {
  return Array.from(text.matchAll(EITHER)).flatMap(([, , name, fields]) => (name === undefined ? [] : [`${name}${fields}`]));
}
