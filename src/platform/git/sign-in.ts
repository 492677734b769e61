/** With what git signs in at the host that it calls. It is made for one call, and written nowhere. */
export type SignIn = OwnSignIn | KeySignIn | TokenSignIn | NoSignIn;

/** What the service's user has in its home directory: `.netrc`, or the keys and known hosts in `.ssh`. */
export interface OwnSignIn {
  readonly kind: 'own';
}

/** Files of this host, real paths. */
export interface KeySignIn {
  readonly kind: 'key';
  readonly key: string;
  readonly knownHosts: string;
  /** Undefined: the one of the URL. */
  readonly user: string | undefined;
}

export interface TokenSignIn {
  readonly kind: 'token';
  readonly username: string;
  readonly password: string;
  /** The real path of the authority behind the host's certificate, when it is not a public one. */
  readonly ca: string | undefined;
}

export interface NoSignIn {
  readonly kind: 'none';
  readonly ca: string | undefined;
}

export const NOBODY: NoSignIn = { kind: 'none', ca: undefined };

/** What git is told on a file of its own, in the words of its credential helpers; undefined when there is nothing to tell. */
export function toldTo(signIn: SignIn | undefined): string | undefined {
  return signIn?.kind === 'token' ? `username=${signIn.username}\npassword=${signIn.password}\n` : undefined;
}

/** A text without the secret. */
export function withoutSecret(text: string, signIn: SignIn | undefined): string {
  return signIn?.kind === 'token' ? text.replaceAll(signIn.password, '***') : text;
}
