import { Injectable } from '@nestjs/common';
import { problem } from '../../../../contract/problems.js';
import { OutgoingGuard, OutgoingRefused } from '../../../../platform/outgoing/outgoing-guard.js';

/** Whoever tries an adapter on the same machine is refused first of all. */
const ALLOWED_BY = ' (the operator allows it with SVC_ALLOWED_TARGETS)';

/** Looks at the address under which an adapter wants to be called, as every call will again. */
@Injectable()
export class CallbackAddress {
  constructor(private readonly guard: OutgoingGuard) {}

  /** The address without a slash at its end; '' for none. @throws ProblemError validation_failed */
  async checked(city: string, text: string | undefined): Promise<string> {
    const given = (text ?? '').trim();
    if (given === '') return '';
    const url = URL.parse(given);
    if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) throw refused('callback_url must be an http or https URL');
    if (url.username !== '' || url.password !== '') throw refused('callback_url must not hold credentials');
    if (url.search !== '' || url.hash !== '')
      throw refused('callback_url must have neither a query nor a fragment: paths are put after it');
    try {
      await this.guard.resolve(hostOf(url), portOf(url), city);
    } catch (error) {
      if (error instanceof OutgoingRefused)
        throw refused(`callback_url may not be called: ${error.message}${error.reason === 'forbidden' ? ALLOWED_BY : ''}`);
      throw error;
    }
    return url.href.replace(/\/+$/, '');
  }
}

export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');
export const portOf = ({ port, protocol }: URL): number => (port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port));

function refused(why: string): Error {
  return problem('validation_failed', why, { at: 'body.callback_url' });
}
