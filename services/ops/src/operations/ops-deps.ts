import type { Db } from '@opentill/db/database';
import type { Clock } from '@opentill/runtime/clock';
import type { NewId } from '@opentill/runtime/ids';
import type { Assets } from '../assets.ts';

/** Dependencies of the operations. Acts write through their own transaction. */
export interface OpsDeps {
  readonly db: Db;
  /** The same role with a longer statement timeout, for exports. */
  readonly exportDb: Db;
  readonly assets: Assets;
  readonly secretsKey: Buffer;
  readonly clock: Clock;
  readonly newId: NewId;
}
