import { nameOf } from '../edits.js';

/** Where an agent is found: by its name in the city, or in a rig. */
export type Address = { readonly base: string } | { readonly dir: string; readonly base: string };

/** The address of `[rig/][binding.]name`. @throws CliError when it is none */
export function addressOf(name: string): Address {
  const at = name.lastIndexOf('/');
  const base = nameOf('an agent', name.slice(at + 1));
  return at < 0 ? { base } : { dir: nameOf('a rig', name.slice(0, at)), base };
}
