import type { Logger } from '@opentill/runtime/logger';
import type { AlarmEdges } from './alarm-edges.ts';
import type { SignerMeters } from './signer-meters.ts';

export interface ObservabilityDeps {
  readonly logger: Logger;
  readonly meters: SignerMeters;
  readonly alarms: AlarmEdges;
}
