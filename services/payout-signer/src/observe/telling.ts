import type { Logger } from '@opentill/runtime/logger';
import type { AlarmEdges } from './alarm-edges.ts';
import type { SignerMeters } from './signer-meters.ts';

/** Where it is told what happens. */
export interface Telling {
  readonly logger: Logger;
  readonly meters: SignerMeters;
  readonly alarms: AlarmEdges;
}
