import type { Ask, LoggedEvent } from '../api/types.js';

/** A question that an event tells of, and who has settled it how. */
export interface Asked {
  readonly ask: Ask;
  readonly settled: { readonly by: string; readonly action: string } | undefined;
}

/**
 * What an event says of a question, or nothing where the list of questions has to say it. The service itself has put the session into what it
 * records: what a client has recorded has none, and somebody would answer what nobody asks. Some events have not room for all of a question.
 */
export function askedOf({ city, type, payload, actor }: LoggedEvent & { readonly city: string }): Asked | undefined {
  if (payload.session === undefined) return undefined;
  const ask = { ...(payload as unknown as Ask), city };
  if (type === 'session.interaction.resolved')
    return { ask, settled: { by: actor, action: typeof payload.action === 'string' ? payload.action : 'withdrawn' } };
  return ask.choices === undefined || payload.prompt_cut === true ? undefined : { ask, settled: undefined };
}
