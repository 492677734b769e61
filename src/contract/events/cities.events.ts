import { z } from 'zod';
import { contract } from '../registry.js';
import { defineEvent, NoPayload } from './define.js';

const cityEnd = () => z.strictObject({ request_id: z.string(), name: z.string(), path: z.string() });

export const CityLifecyclePayload = contract('CityLifecyclePayload', z.strictObject({ name: z.string(), path: z.string() }));
export const CityCreateSucceededPayload = contract('CityCreateSucceededPayload', cityEnd());
export const CityUnregisterSucceededPayload = contract('CityUnregisterSucceededPayload', cityEnd());

/** Additions: cities can be stopped, started and attached again without being made anew. */
export const CityStopSucceededPayload = contract('CityStopSucceededPayload', cityEnd());
export const CityStartSucceededPayload = contract('CityStartSucceededPayload', cityEnd());
export const CityRegisterSucceededPayload = contract('CityRegisterSucceededPayload', cityEnd());

export const CityCreated = defineEvent('city.created', 1, CityLifecyclePayload);
export const CityUnregisterRequested = defineEvent('city.unregister_requested', 1, CityLifecyclePayload);
export const CitySuspended = defineEvent('city.suspended', 1, NoPayload);
export const CityResumed = defineEvent('city.resumed', 1, NoPayload);
export const ControllerStarted = defineEvent('controller.started', 1, NoPayload);
export const ControllerStopped = defineEvent('controller.stopped', 1, NoPayload);
export const CityCreateSucceeded = defineEvent('request.result.city.create', 1, CityCreateSucceededPayload);
export const CityUnregisterSucceeded = defineEvent('request.result.city.unregister', 1, CityUnregisterSucceededPayload);
export const CityStopSucceeded = defineEvent('request.result.city.stop', 1, CityStopSucceededPayload);
export const CityStartSucceeded = defineEvent('request.result.city.start', 1, CityStartSucceededPayload);
export const CityRegisterSucceeded = defineEvent('request.result.city.register', 1, CityRegisterSucceededPayload);
