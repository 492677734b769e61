import type { Bar } from '../lib/context.js';
import { append, hotCity } from './append.js';
import { catchUp } from './catch-up.js';
import { composingBeside } from './composing.js';
import { composing, configChange, configRead } from './config.js';
import { apiBesideStreams, endToEnd } from './end-to-end.js';
import { fanOut } from './fan-out.js';
import { fanOuts } from './fan-outs.js';
import { isolation } from './isolation.js';
import { herd } from './herd.js';
import { inbound, insideOut } from './messages.js';
import { neighbours } from './neighbours.js';
import { arrival, notifier } from './notify.js';
import { heldCity, hotCityHttp, http } from './requests.js';
import { processes } from './processes.js';
import { idle, memory } from './resting.js';
import { dueOrders, restingOrders } from './orders.js';
import { launch, molecules, runReads } from './runs.js';
import { forwarded, forwardedStreams } from './services.js';
import { coldStart, liveChunks, recording, transcripts } from './sessions.js';
import { fairShares } from './shares.js';
import { manyCities, supervisorStream } from './supervisor.js';
import { beads, claims, pages, ready } from './work.js';

/** In the order of the table. */
export const BARS: readonly Bar[] = [
  append,
  hotCity,
  notifier,
  heldCity,
  fairShares,
  neighbours,
  fanOuts,
  arrival,
  http,
  processes,
  fanOut,
  endToEnd,
  apiBesideStreams,
  memory,
  herd,
  catchUp,
  supervisorStream,
  idle,
  hotCityHttp,
  manyCities,
  beads,
  claims,
  ready,
  pages,
  composing,
  composingBeside,
  configRead,
  configChange,
  liveChunks,
  recording,
  coldStart,
  isolation,
  transcripts,
  launch,
  molecules,
  runReads,
  restingOrders,
  dueOrders,
  inbound,
  insideOut,
  forwarded,
  forwardedStreams,
];
