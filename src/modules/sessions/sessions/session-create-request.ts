import { problem } from '../../../contract/problems.js';
import type { SessionCreateBody } from '../../../contract/sessions.schemas.js';

export interface CreateRequest {
  readonly kind: 'agent' | 'provider';
  readonly name: string;
  /** '' for none. */
  readonly alias: string;
  readonly message: string | undefined;
  readonly title: string | undefined;
  readonly projectId: string | undefined;
  readonly options: Readonly<Record<string, string>>;
}

const TITLE_MAX = 80;

/** What a body asks for. @throws ProblemError invalid_request */
export function requestOf(body: SessionCreateBody): CreateRequest {
  const { kind, name = '', alias = '', message, title, project_id, options = {}, session_name } = body;
  const wrong = (member: keyof SessionCreateBody, why: string): Error => problem('invalid_request', why, { at: `body.${member}` });
  if (session_name !== undefined) throw wrong('session_name', 'session_name cannot be given; use alias');
  if (kind !== 'agent' && kind !== 'provider') throw wrong('kind', 'kind must be "agent" or "provider"');
  if (name.trim() === '') throw wrong('name', 'name is required');
  if (kind === 'provider' && body.async !== undefined)
    throw wrong('async', message === undefined ? 'async is not accepted for kind provider' : 'async cannot be combined with a message');
  const said = message === undefined || message.trim() === '' ? undefined : message;
  return {
    kind,
    name,
    alias,
    message: said,
    title: title === undefined || title.trim() === '' ? undefined : title,
    projectId: project_id === undefined || project_id === '' ? undefined : project_id,
    options,
  };
}

/** What a session is called that was begun with this. */
export function firstLine(message: string | undefined): string | undefined {
  const line = message
    ?.split('\n')
    .find((one) => one.trim() !== '')
    ?.trim();
  if (line === undefined || [...line].length <= TITLE_MAX) return line;
  return `${[...line].slice(0, TITLE_MAX - 1).join('')}…`;
}
