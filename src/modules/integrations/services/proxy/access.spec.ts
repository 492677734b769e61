import { describe, expect, it } from '@jest/globals';
import { ANYBODY } from '../../../../contract/principal.js';
import type { ServiceDefinition } from '../service-definition.js';
import { refusal, type Asking, type Place } from './access.js';

const PRIVATE: ServiceDefinition = {
  ...{
    kind: 'proxy_process',
    publishMode: 'private',
    stateRoot: '.gc/services/x',
    visibility: 'private',
    hostname: 'x',
    allowWebsockets: false,
  },
};
const DIRECT: ServiceDefinition = { ...PRIVATE, publishMode: 'direct', visibility: 'public' };
const NEAR: Asking = { method: 'GET', upgrade: false, marked: false, near: true, caller: ANYBODY, identified: false };
const HERE: Place = { readOnly: false, needsKey: false };
const READER = { actor: 'r', keyId: 'r', scope: 'read', cities: undefined } as const;

function why(service: ServiceDefinition, asking: Partial<Asking>, place: Partial<Place> = {}): string {
  return refusal(service, { ...NEAR, ...asking }, { ...HERE, ...place })?.detail ?? 'may';
}

describe('who may reach a service', () => {
  it.each<[string, ServiceDefinition, Partial<Asking>, Partial<Place>, string]>([
    ['reads it from this host', PRIVATE, {}, {}, 'may'],
    ['reads it from elsewhere', PRIVATE, { near: false }, {}, 'not_found: service route not found'],
    ['reads it from elsewhere, marked', PRIVATE, { near: false, marked: true }, {}, 'may'],
    ['reads it from elsewhere, with a key', PRIVATE, { near: false, identified: true }, { needsKey: true }, 'may'],
    ['changes it unmarked', PRIVATE, { method: 'DELETE' }, {}, 'csrf: X-SVC-Request header required on private service mutation endpoints'],
    [
      'changes it unmarked, with a key',
      PRIVATE,
      { method: 'POST', identified: true },
      {},
      'csrf: X-SVC-Request header required on private service mutation endpoints',
    ],
    ['changes it', PRIVATE, { method: 'POST', marked: true }, {}, 'may'],
    [
      'changes it where nobody may',
      PRIVATE,
      { method: 'PUT', marked: true },
      { readOnly: true },
      'read_only: service mutations are disabled for unpublished services',
    ],
    ['has no key', PRIVATE, { marked: true }, { needsKey: true }, 'unauthorized: an API key is required: Authorization: Bearer svc_…'],
    [
      'may only read',
      PRIVATE,
      { method: 'PATCH', marked: true, identified: true, caller: READER },
      {},
      'forbidden: the API key lacks the right "operate"',
    ],
    [
      'may only read, and joins',
      { ...PRIVATE, allowWebsockets: true },
      { upgrade: true, identified: true, caller: READER },
      {},
      'forbidden: the API key lacks the right "operate"',
    ],
    ['joins', { ...PRIVATE, allowWebsockets: true }, { upgrade: true }, {}, 'may'],
    [
      'joins where nobody may',
      { ...PRIVATE, allowWebsockets: true },
      { upgrade: true },
      { readOnly: true },
      'read_only: service mutations are disabled for unpublished services',
    ],
    [
      'joins what takes no WebSockets',
      PRIVATE,
      { upgrade: true },
      {},
      'forbidden: the service takes no WebSockets: publication.allow_websockets is not set',
    ],
    ['changes what is direct', DIRECT, { method: 'POST', near: false }, { readOnly: true }, 'may'],
    ['reads what is direct', DIRECT, { method: 'HEAD', near: false }, { readOnly: true, needsKey: true }, 'may'],
    [
      'changes what is direct without the key that is asked for',
      DIRECT,
      { method: 'POST', marked: true },
      { needsKey: true },
      'unauthorized: an API key is required: Authorization: Bearer svc_…',
    ],
    [
      'changes what is direct with a key that may only read',
      DIRECT,
      { method: 'DELETE', identified: true, caller: READER },
      { needsKey: true },
      'forbidden: the API key lacks the right "operate"',
    ],
    [
      'changes what is direct with a key',
      DIRECT,
      { method: 'PUT', near: false, identified: true },
      { needsKey: true, readOnly: true },
      'may',
    ],
    ['joins what is direct', { ...DIRECT, allowWebsockets: true }, { upgrade: true, near: false }, { needsKey: true }, 'may'],
    [
      'joins what is direct and takes none',
      DIRECT,
      { upgrade: true },
      {},
      'forbidden: the service takes no WebSockets: publication.allow_websockets is not set',
    ],
  ])('who %s', (_what, service, asking, place, expected) => {
    expect(why(service, asking, place)).toBe(expected);
  });
});
