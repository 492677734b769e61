import { problem } from '../../../contract/problems.js';
import { MAPS } from '../../files/composition/compose/merge-provider.js';
import { isTable, type Document } from '../config/documents.js';
import { unmasked } from '../config/unmasked.js';
import { uncoverIn } from '../patches/patch-documents.js';
import type { ProviderUpdateInputBody } from './city-providers.schemas.js';

export function hasProvider(document: Document, name: string): boolean {
  return isTable(document.providers) && Object.hasOwn(document.providers, name);
}

/**
 * Puts what a body says into a provider of a document, and the provider itself where it is not there yet.
 *
 * @throws ProblemError validation_failed for a masked value that nothing is stored for.
 */
export function putProvider(document: Document, name: string, body: ProviderUpdateInputBody): void {
  const providers = tableAt(document, 'providers');
  const provider = tableAt(providers, name);
  for (const [key, value] of Object.entries(body)) {
    if (!isGiven(value)) continue;
    const meant = unmasked(key, value, provider[key]);
    if (isTable(meant)) Object.assign(tableAt(provider, key), meant);
    else provider[key] = meant;
  }
}

/**
 * Takes what a body says out of the patches of a provider in a document: a change that a patch hides would change nothing. Of maps the
 * entries. Answers the keys that were hidden.
 *
 * @throws ProblemError wrong_state for a patch that hides all that the provider says
 */
export function uncoverProvider(document: Document, name: string, body: ProviderUpdateInputBody): string[] {
  const hidden: string[] = [];
  uncoverIn(document, 'providers', name, (patch) => {
    if (patch._replace === true) throw problem('wrong_state', `a patch takes the place of provider ${name}; change the patch`);
    const found = Object.entries(body).flatMap(([key, value]) => (isGiven(value) && uncover(patch, key, value) ? [key] : []));
    hidden.push(...found);
    return found.length > 0;
  });
  return hidden;
}

/** What a body means where it sends back masked what a patch has hidden: `shown` is the provider as it was read. */
export function meantIn(body: ProviderUpdateInputBody, hidden: ReadonlySet<string>, shown: Document): ProviderUpdateInputBody {
  const meant = Object.entries(body).map(([key, value]) => [key, hidden.has(key) ? unmasked(key, value, shown[key]) : value]);
  return Object.fromEntries(meant) as ProviderUpdateInputBody;
}

/** Takes a provider out of a document. */
export function dropProvider(document: Document, name: string): void {
  if (!isTable(document.providers)) return;
  delete document.providers[name];
  if (Object.keys(document.providers).length === 0) delete document.providers;
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

function uncover(patch: Document, key: string, value: unknown): boolean {
  const names = isTable(value) ? Object.keys(value) : [];
  let found = key === 'env' && takeNames(patch, 'env_remove', names);
  const there = Object.hasOwn(patch, key) ? patch[key] : undefined;
  if (!MAPS.has(key) || !isTable(there)) return there === undefined ? found : delete patch[key];
  for (const name of names) if (Object.hasOwn(there, name)) found = delete there[name];
  if (Object.keys(there).length === 0) delete patch[key];
  return found;
}

/** Takes names out of a list of them. */
function takeNames(patch: Document, key: string, names: readonly string[]): boolean {
  const list = patch[key];
  if (!Array.isArray(list)) return false;
  const left = list.filter((name) => !names.includes(name as string));
  if (left.length === list.length) return false;
  if (left.length > 0) patch[key] = left;
  else delete patch[key];
  return true;
}

/** The table under a key, made when there is none. @throws ProblemError when something else is there */
function tableAt(parent: Document, key: string): Document {
  if (!Object.hasOwn(parent, key)) parent[key] = {};
  const found = parent[key];
  if (!isTable(found)) throw problem('wrong_state', `${key} is no table in the file; mend it first`);
  return found;
}
