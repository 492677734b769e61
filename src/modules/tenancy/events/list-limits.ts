import { Injectable } from '@nestjs/common';
import { PAGE_BYTES } from '../../../platform/database/page-bytes.js';
import { COUNTED } from '../../../platform/database/totals.js';
import { MOST_MISSED } from '../../../platform/streams/cursor.js';

/** What one list request may cost. */
@Injectable()
export class ListLimits {
  readonly defaultPage: number = 100;
  readonly pageBytes: number = PAGE_BYTES;
  /** Events read at once when no index answers the filter. */
  readonly stretch: number = 20_000;
  /** The most that a filtered total looks at. */
  readonly counted: number = COUNTED;
  /** A page stops looking for more matches after this long and carries a cursor instead. */
  readonly pageBudgetMs: number = 1_500;
  /** Up to this many streams are read one by one through their own keys, beyond it through the index by time. */
  readonly fewStreams: number = 64;
  /** Cities that have left, of which a list upwards may still tell. */
  readonly missed: number = MOST_MISSED;
  /** Events that a histogram looks at, and the windows of streams that it puts them into. */
  readonly looks: number = 50_000;
  readonly windows: number = 10_000;
}
