import type { GroupFacts, ParticipantFacts } from './groups.repository.js';

/** Whom a message from outside is for, as a group decides it. */
export interface Decision {
  readonly match: 'explicit_target' | 'last_addressed' | 'default' | 'no_match' | 'no_group';
  readonly participant?: ParticipantFacts;
  /** To be remembered as the one who was addressed last. */
  readonly handle?: string;
}

/** Whoever is named, and nobody else then; else who was named last; else the default. */
export function decide(group: GroupFacts | undefined, participants: readonly ParticipantFacts[], explicitTarget: string): Decision {
  if (group === undefined) return { match: 'no_group' };
  const by = (handle: string): ParticipantFacts | undefined =>
    handle === '' ? undefined : participants.find((participant) => participant.handle === handle);
  if (explicitTarget !== '') {
    const participant = by(explicitTarget);
    return participant === undefined ? { match: 'no_match' } : { match: 'explicit_target', participant, handle: explicitTarget };
  }
  const last = by(group.last_addressed_handle);
  if (last !== undefined) return { match: 'last_addressed', participant: last };
  const usual = by(group.default_handle);
  return usual === undefined ? { match: 'no_match' } : { match: 'default', participant: usual };
}
