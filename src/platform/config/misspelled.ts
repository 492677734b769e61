import { nearest } from '../../contract/nearest.js';
import { EnvSchema } from './environment.js';

const NAMES = Object.keys(EnvSchema.shape).filter((name) => name.startsWith('SVC_'));
/** Shorter ones are too near to others that somebody may have set for something else: `SVC_NODE`, `SVC_ROLE`. */
const LONG = 'SVC_'.length + 6;

export interface Misspelled {
  readonly variable: string;
  readonly meant: string;
}

/** Variables that nobody reads, and look like one that was meant: left out in silence, what they say would never hold. */
export function misspelled(env: Readonly<Record<string, string | undefined>>): Misspelled[] {
  const given = Object.keys(env).filter((name) => name.startsWith('SVC_') && name.length >= LONG && !NAMES.includes(name));
  return given.flatMap((variable) => {
    const meant = nearest(variable, NAMES);
    return meant === undefined ? [] : [{ variable, meant }];
  });
}
