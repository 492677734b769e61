import { expect, it } from '@jest/globals';
import { LENT } from '../../../platform/isolation/users.js';
import { SCALE_CHECKS } from '../../runners/pools/scale-checks.js';
import { LeaseTimings } from '../../sessions/launch/leased-work.js';
import { ServiceTimings } from './service-timings.js';

const placesOf = ({ atOnce, spared }: LeaseTimings): number => atOnce + spared;

// Guard: what a worker has taken and has no user for is kept from those that have one.
it('a worker has a user of the host for each of its places', () => {
  expect(LENT.services).toBeGreaterThanOrEqual(placesOf(new ServiceTimings()));
  // Commands of orders, scripts of checks, and what pools ask.
  expect(LENT.commands).toBeGreaterThanOrEqual(2 * placesOf(new LeaseTimings()) + SCALE_CHECKS);
});
