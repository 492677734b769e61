/** What is said between a page and whoever holds its streams. */
export interface Frame {
  readonly event: string;
  /** The position of the stream; '' before the first. Opaque. */
  readonly id: string;
  readonly data: unknown;
}

export type StreamState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  /** The connection was lost, or the service has `answered` that it cannot be now; it is tried again. */
  | { readonly kind: 'waiting'; readonly retryAt: number; readonly why: string; readonly answered?: boolean }
  /** The key is not good for it: nothing is tried before there is another one. */
  | { readonly kind: 'refused'; readonly status: number; readonly why: string }
  /** Its city does not run, or is not there. */
  | { readonly kind: 'missing'; readonly why: string }
  /** More streams than a browser has connections for: this one has to wait until somebody looks at it. */
  | { readonly kind: 'paused' }
  /** Nothing more will come. */
  | { readonly kind: 'ended' };

export type Down =
  /** Who holds the streams has this lock for as long as it lives. */
  | { readonly t: 'worker'; readonly lock: string }
  | { readonly t: 'frame'; readonly url: string; readonly frame: Frame }
  /** Joined: whatever happens from now on comes as frames. `gap`: nothing of what was before, so that is to be read. */
  | { readonly t: 'live'; readonly url: string; readonly gap: boolean }
  | { readonly t: 'state'; readonly url: string; readonly state: StreamState }
  /** `first`: what there is when a page comes; nobody has just signed in or out. `out`: the last sign-out before it. */
  | { readonly t: 'key'; readonly key: string | null; readonly first?: boolean; readonly out?: string };

export type Up =
  | { readonly t: 'hello'; readonly lock: string }
  /** `whole`: what was before is told by the stream alone, at its beginning. */
  | { readonly t: 'join'; readonly url: string; readonly keep: boolean; readonly whole?: boolean }
  | { readonly t: 'leave'; readonly url: string }
  /** `offered`: only where there is none. `out`: the last sign-out before it. */
  | { readonly t: 'key'; readonly key: string | null; readonly offered?: boolean; readonly out?: string }
  /** Somebody has signed out since: a key that came after the sign-out `out`, and before the next, is none any more. */
  | { readonly t: 'forget'; readonly out: string }
  /** How often every stream says something at the least. */
  | { readonly t: 'heartbeat'; readonly ms: number }
  /** The network is back, or somebody looks again. */
  | { readonly t: 'wake' };
