import { describe, expect, it } from '@jest/globals';
import { failureOf } from './git-failure.js';

describe('what git says last', () => {
  it.each([
    ["fatal: unable to access 'https://h/x/': SSL certificate problem: self-signed certificate", 'certificate'],
    ["fatal: unable to access 'https://h/x/': server certificate verification failed. CAfile: /x CRLfile: none", 'certificate'],
    ["fatal: unable to access 'https://h/x/': SSL: no alternative certificate subject name matches target host name 'h'", 'certificate'],
    ["fatal: unable to access 'https://h/x/': Failed to connect to h port 1 after 0 ms: Couldn't connect to server", 'port'],
    ['ssh: connect to host h port 1: Connection refused\nfatal: Could not read from remote repository.', 'port'],
    ["fatal: unable to access 'https://h/x/': Could not resolve host: h", 'does not answer as it should'],
    ["fatal: unable to access 'https://h/x/': Empty reply from server", 'does not answer as it should'],
  ])('is told as what it is: %s', (stderr, words) => {
    expect(failureOf(stderr)).toMatchObject({ reason: 'unreachable', message: expect.stringContaining(words) });
  });
});
