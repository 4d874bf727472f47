import type { Family } from '@opentill/domain/chains';
import type { ServiceSchema } from './service-schema.ts';

const SCANNERS: Readonly<Record<Family, ServiceSchema>> = {
  EVM: 'scanner_evm',
  TRON: 'scanner_tron',
  SUI: 'scanner_sui',
};

export function scannerSchemaOf(family: Family): ServiceSchema {
  return SCANNERS[family];
}
