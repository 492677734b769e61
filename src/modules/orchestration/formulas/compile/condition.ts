import { LIMITS } from './limits.js';

/** Whether a step is there: decided while its formula is compiled. Both sides may hold placeholders. */
export interface Condition {
  readonly left: string;
  readonly not: boolean;
  /** Absent: whether `left` says yes. */
  readonly right?: string;
}

const TRUTH = /^(!?)\s*(\{\{[A-Za-z_]\w*\}\})$/;
const COMPARED = /^(\{\{[A-Za-z_]\w*\}\})\s*(==|!=)\s*(\S.*)$/;
const NO = new Set(['', 'false', '0', 'no', 'off']);

/** `{{v}}`, `!{{v}}`, `{{v}} == value`, `{{v}} != value`; undefined for anything else. */
export function conditionOf(written: string): Condition | undefined {
  if (written.length > LIMITS.expression) return undefined;
  const text = written.trim();
  const truth = TRUTH.exec(text);
  if (truth !== null) return { left: truth[2]!, not: truth[1] === '!' };
  const compared = COMPARED.exec(text);
  if (compared === null) return undefined;
  return { left: compared[1]!, not: compared[2] === '!=', right: unquoted(compared[3]!.trim()) };
}

/** Decides a condition whose placeholders `resolve` replaces. */
export function holds({ left, not, right }: Condition, resolve: (text: string) => string): boolean {
  const value = resolve(left);
  const is = right === undefined ? !NO.has(value.trim().toLowerCase()) : value === resolve(right);
  return is !== not;
}

export function unquoted(text: string): string {
  const quote = text[0];
  return text.length > 1 && (quote === '"' || quote === "'") && text.at(-1) === quote ? text.slice(1, -1) : text;
}
