import { problem, type ProblemField } from '../../../contract/problems.js';
import { isProviderName, providerHint } from '../../hosts/providers/providers.catalogue.js';
import type { CityCreateRequest } from './cities.schemas.js';
import type { CityFacts } from './scaffold/files.js';

/** What a create asks for, checked beyond its shape; aliases of the profile become its one name. @throws ProblemError validation_failed */
export function factsOf(body: CityCreateRequest): Omit<CityFacts, 'name'> {
  const { provider } = body;
  const startCommand = body.start_command === undefined || body.start_command.trim() === '' ? undefined : body.start_command;
  if (provider === undefined && startCommand === undefined) throw invalid('provider or start_command required');
  if (provider !== undefined && startCommand !== undefined) throw invalid('provider and start_command are mutually exclusive');
  if (provider !== undefined && !isProviderName(provider))
    throw invalid(`unknown provider "${provider}"`, { location: 'body.hint', message: providerHint(provider) });
  return { provider, startCommand, profile: normalProfile(body.bootstrap_profile), network: body.network };
}

function normalProfile(profile: CityCreateRequest['bootstrap_profile']): string | undefined {
  return profile === 'kubernetes' || profile === 'kubernetes-cell' ? 'k8s-cell' : profile;
}

function invalid(why: string, ...hints: readonly ProblemField[]): Error {
  const message = `invalid provider: ${why}`;
  return problem('validation_failed', message, { errors: [{ message, location: 'body.provider' }, ...hints] });
}
