import { expect, it } from '@jest/globals';
import { ApiError } from './errors.js';
import { EXIT, exitCodeOf } from './exit-codes.js';

it.each([
  [404, 'not-found', EXIT.notFound],
  // A bead in a body is no address: the service answers 400.
  [400, 'sling-missing-bead', EXIT.notFound],
  [400, 'sling-cross-rig', EXIT.refused],
  [409, undefined, EXIT.refused],
  [503, 'not-ready', EXIT.unreachable],
  [502, undefined, EXIT.unreachable],
  // The service is there: what it has asked is not.
  [502, 'bad-gateway', EXIT.failed],
])('a refusal with %d %s ends a command with its code', (status, code, expected) => {
  expect(exitCodeOf(new ApiError('no', status, code, undefined), true)).toBe(expected);
});
