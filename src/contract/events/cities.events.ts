import { z } from 'zod';
import { contract } from '../registry.js';
import { defineEvent, NoPayload } from './define.js';

const cityEnd = () => z.strictObject({ request_id: z.string(), name: z.string(), path: z.string() });

export const CityLifecyclePayload = contract(
  'CityLifecyclePayload',
  z.strictObject({ name: z.string(), path: z.string() }),
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

export const CityCreated = defineEvent('city.created', 1, CityLifecyclePayload, 'A city was made.');
export const CityUnregisterRequested = defineEvent('city.unregister_requested', 1, CityLifecyclePayload, 'A city is to be unregistered.');
export const CitySuspended = defineEvent('city.suspended', 1, NoPayload, 'A city was suspended: none of its agents is started.');
export const CityResumed = defineEvent('city.resumed', 1, NoPayload, 'A city that was suspended goes on.');
export const ControllerStarted = defineEvent('controller.started', 1, NoPayload, 'The control loops of a city have started.');
export const ControllerStopped = defineEvent('controller.stopped', 1, NoPayload, 'The control loops of a city have stopped.');
export const CityCreateSucceeded = defineEvent('request.result.city.create', 1, CityCreateSucceededPayload, 'Making a city has succeeded.');
export const CityUnregisterSucceeded = defineEvent(
  'request.result.city.unregister',
  1,
  CityUnregisterSucceededPayload,
  'Unregistering a city has succeeded.',
);
export const CityStopSucceeded = defineEvent('request.result.city.stop', 1, CityStopSucceededPayload, 'Stopping a city has succeeded.');
export const CityStartSucceeded = defineEvent('request.result.city.start', 1, CityStartSucceededPayload, 'Starting a city has succeeded.');
export const CityRegisterSucceeded = defineEvent(
  'request.result.city.register',
  1,
  CityRegisterSucceededPayload,
  'Attaching a city has succeeded.',
);
