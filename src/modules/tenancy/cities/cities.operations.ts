import { z } from 'zod';
import {
  CityCreateSucceeded,
  CityRegisterSucceeded,
  CityStartSucceeded,
  CityStopSucceeded,
  CityUnregisterSucceeded,
} from '../../../contract/events/cities.events.js';
import { defineOperation } from '../../../platform/operations/operation.js';

/** What a worker has to know of the city: `running` is how the request found it. */
export const CityOperationInput = z.object({ name: z.string(), path: z.string(), running: z.boolean() });
export type CityOperationInput = z.infer<typeof CityOperationInput>;

const INITIALIZE_MS = 120_000;
const TEARDOWN_MS = 60_000;
const common = { input: CityOperationInput, maxAttempts: 5 };

export const CityCreate = defineOperation({ ...common, kind: 'city.create', succeeded: CityCreateSucceeded, deadlineMs: INITIALIZE_MS });
export const CityRegister = defineOperation({
  ...common,
  kind: 'city.register',
  succeeded: CityRegisterSucceeded,
  deadlineMs: INITIALIZE_MS,
});
export const CityStart = defineOperation({ ...common, kind: 'city.start', succeeded: CityStartSucceeded, deadlineMs: INITIALIZE_MS });
export const CityStop = defineOperation({ ...common, kind: 'city.stop', succeeded: CityStopSucceeded, deadlineMs: TEARDOWN_MS });
export const CityUnregister = defineOperation({
  ...common,
  kind: 'city.unregister',
  succeeded: CityUnregisterSucceeded,
  deadlineMs: TEARDOWN_MS,
});
