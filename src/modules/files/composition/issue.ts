import { storableText } from '../../../contract/storable.js';

/**
 * Something about the files of a city that their owner should know. Everything wrong is told at once, each at its
 * place; texts never repeat values, which may be secrets.
 */
export interface Issue {
  readonly severity: 'error' | 'warning';
  /** The file as its owner knows it: relative to the city, or `<binding>:<path>` for a file of an imported pack. */
  readonly file: string;
  /** Counted from 1; absent where no line can be named. */
  readonly line?: number;
  /** The key in dotted form, such as `agent[0].scope`; empty for the file as a whole. */
  readonly key: string;
  readonly message: string;
  /** What would have been accepted, where that is a list. */
  readonly accepted?: readonly string[];
}

/** One line for people, which can be stored: `city.toml:12: agent[0].scope: must be one of city, rig`. */
export function describeIssue({ file, line, key, message, accepted }: Issue): string {
  const place = line === undefined ? file : `${file}:${line}`;
  const list = accepted === undefined || accepted.length === 0 ? '' : ` (accepted: ${accepted.join(', ')})`;
  return storableText(`${place}: ${key === '' ? '' : `${key}: `}${message}${list}`);
}

export function errorsOf(issues: readonly Issue[]): Issue[] {
  return issues.filter((issue) => issue.severity === 'error');
}
