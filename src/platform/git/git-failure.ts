/**
 * `credentials`: the host wants to know who asks, or does not let this one in. `not_found`: no such repository, branch or
 * commit. `redirected`: the repository moved. `unreachable`: the host does not answer as it should. `timeout`, `too_large`: a
 * limit was reached. `aborted`: the caller gave up. `unavailable`: there is no git here.
 */
export type GitReason =
  | 'credentials'
  | 'not_found'
  | 'redirected'
  | 'unreachable'
  | 'timeout'
  | 'too_large'
  | 'aborted'
  | 'unavailable'
  | 'failed';

/** git did not do what it was asked to; the message is for who named the repository. */
export class GitFailure extends Error {
  override readonly name = 'GitFailure';
  constructor(
    readonly reason: GitReason,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

const SIGNS: readonly (readonly [RegExp, GitReason, string])[] = [
  [/out of memory|malloc failed|failed to allocate|mmap failed/i, 'too_large', 'what the repository sends is too large'],
  [
    /could not read (Username|Password)|Authentication failed|returned error: 40[137]|Permission denied \(/i,
    'credentials',
    'the host demands credentials',
  ],
  [/returned error: 30\d|redirect/i, 'redirected', 'the repository is elsewhere: name the address that it redirects to'],
  [
    /SSL certificate problem|certificate verification failed|certificate subject name|no alternative certificate/i,
    'unreachable',
    'the certificate of the host is not believed here, or is another host’s',
  ],
  [/Host key verification failed/i, 'unreachable', 'the key of the host is not known here'],
  [
    /returned error: (404|410)|not found|does not appear to be a git repository|does not exist|couldn't find remote ref|not our ref/i,
    'not_found',
    'there is no such repository, or not for this caller',
  ],
  [
    /Connection refused|Couldn't connect to server/i,
    'unreachable',
    'the host refuses the connection, which it does where nothing listens at the port',
  ],
  [
    /Failed to connect|Could not resolve|Connection (refused|reset|timed out|closed)|timed out|Operation too slow|unable to access|early EOF|hung up/i,
    'unreachable',
    'the host does not answer as it should',
  ],
];

/** What the last words of git mean. */
export function failureOf(stderr: string): GitFailure {
  for (const [sign, reason, message] of SIGNS) if (sign.test(stderr)) return new GitFailure(reason, message);
  const said = stderr.split('\n').findLast((line) => /^(fatal|error): /.test(line)) ?? 'it gave no reason';
  return new GitFailure(
    'failed',
    `git failed: ${said
      .toWellFormed()
      .replace(/\p{Cc}/gu, ' ')
      .slice(0, 200)}`,
  );
}
