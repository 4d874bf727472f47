import type { Db } from '@opentill/db/database';
import type { Clock } from '@opentill/runtime/clock';
import type { NewId } from '@opentill/runtime/ids';
import type { Assets } from '../assets.ts';

/** Acts write through their own transaction. */
export interface OpsDeps {
  readonly db: Db;
  readonly exportDb: Db;
  readonly assets: Assets;
  readonly secretsKey: Buffer;
  readonly clock: Clock;
  readonly newId: NewId;
}
