import { problem } from '../../../contract/problems.js';
import { isTable, type Document } from '../config/documents.js';
import { unmasked } from '../config/unmasked.js';
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
    if (value === undefined || value === null) continue;
    const meant = unmasked(key, value, provider[key]);
    if (isTable(meant)) Object.assign(tableAt(provider, key), meant);
    else provider[key] = meant;
  }
}

/** Takes a provider out of a document. */
export function dropProvider(document: Document, name: string): void {
  if (!isTable(document.providers)) return;
  delete document.providers[name];
  if (Object.keys(document.providers).length === 0) delete document.providers;
}

/** The table under a key, made when there is none. @throws ProblemError when something else is there */
function tableAt(parent: Document, key: string): Document {
  if (!Object.hasOwn(parent, key)) parent[key] = {};
  const found = parent[key];
  if (!isTable(found)) throw problem('wrong_state', `${key} is no table in the file; mend it first`);
  return found;
}
