import { describe, expect, it } from '@jest/globals';
import { openingOf } from './opening.js';

const HERE = 'https://svc.example/ui/c/alpha/services';
const PATH = '/v0/city/alpha/svc/board/';

describe('the pages of a service', () => {
  it('are opened by a link where no key is asked for', () => {
    expect([openingOf('private', PATH, HERE, false), openingOf('direct', PATH, HERE, false)]).toEqual(['link', 'link']);
  });

  it('are not opened where a key is asked for that a browser does not send', () => {
    expect(openingOf('private', PATH, HERE, true)).toBe('never');
  });

  it('are asked about where their scripts would have the key of this page', () => {
    const opened = [PATH, `https://svc.example${PATH}`, `http://svc.example${PATH}`, `https://other.example${PATH}`];
    expect(opened.map((address) => openingOf('direct', address, HERE, true))).toEqual(['ask', 'ask', 'link', 'link']);
  });
});
