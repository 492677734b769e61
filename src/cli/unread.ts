const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a directory',
};

/** Why a file cannot be read, in words. */
export const whyUnread = ({ code = '', message }: NodeJS.ErrnoException): string => REASONS[code] ?? message;
