import type { Db } from '@opentill/db/database';
import type { Clock } from '@opentill/runtime/clock';
import type { NewId } from '@opentill/runtime/ids';
import type { Assets } from '../assets.ts';

/** What operations work with. Acts write through their own transaction. */
export interface OpsDeps {
  /** As the role opentill_ops, for what is only looked at. */
  readonly db: Db;
  /** The same role by a pool whose statements may take long: for exports. */
  readonly exportDb: Db;
  readonly assets: Assets;
  /** Seals merchants' secrets. */
  readonly secretsKey: Buffer;
  readonly clock: Clock;
  readonly newId: NewId;
}
