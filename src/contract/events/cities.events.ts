import { z } from 'zod';
import { contract } from '../registry.js';
import { defineEvent, NoPayload } from './define.js';

const cityEnd = () => z.strictObject({ request_id: z.string(), name: z.string().describe('The name of the city.'), path: z.string() });

export const CityLifecyclePayload = contract(
  'CityLifecyclePayload',
  z.strictObject({ name: z.string().describe('The name of the city.'), path: z.string() }),
  'The city that it happened to.',
);
export const CityCreateSucceededPayload = contract('CityCreateSucceededPayload', cityEnd(), 'The city is made and runs.');
export const CityUnregisterSucceededPayload = contract(
  'CityUnregisterSucceededPayload',
  cityEnd(),
  'The city is registered no more; its directory stays.',
);

/** Additions: cities can be stopped, started and attached again without being made anew. */
export const CityStopSucceededPayload = contract('CityStopSucceededPayload', cityEnd(), 'The city is stopped; it stays registered.');
export const CityStartSucceededPayload = contract('CityStartSucceededPayload', cityEnd(), 'The city runs again.');
export const CityRegisterSucceededPayload = contract('CityRegisterSucceededPayload', cityEnd(), 'The city is attached and runs.');

export const CityCreated = defineEvent(
  'city.created',
  1,
  CityLifecyclePayload,
  'A city was accepted; `request.result.city.create` or `request.failed` says what came of it.',
);
export const CityUnregisterRequested = defineEvent(
  'city.unregister_requested',
  1,
  CityLifecyclePayload,
  'Somebody wants the city forgotten; its directory stays.',
);
export const CitySuspended = defineEvent('city.suspended', 1, NoPayload, 'No agents of the city are started.');
export const CityResumed = defineEvent('city.resumed', 1, NoPayload, 'Agents of the city may be started again.');
export const ControllerStarted = defineEvent('controller.started', 1, NoPayload, 'The city runs.');
export const ControllerStopped = defineEvent('controller.stopped', 1, NoPayload, 'The city has stopped.');
export const CityCreateSucceeded = defineEvent('request.result.city.create', 1, CityCreateSucceededPayload, 'A new city runs.');
export const CityUnregisterSucceeded = defineEvent(
  'request.result.city.unregister',
  1,
  CityUnregisterSucceededPayload,
  'A city is forgotten; its directory stays.',
);
export const CityStopSucceeded = defineEvent('request.result.city.stop', 1, CityStopSucceededPayload, 'A city has stopped.');
export const CityStartSucceeded = defineEvent('request.result.city.start', 1, CityStartSucceededPayload, 'A stopped city runs again.');
export const CityRegisterSucceeded = defineEvent(
  'request.result.city.register',
  1,
  CityRegisterSucceededPayload,
  'A directory is attached, and its city runs.',
);
