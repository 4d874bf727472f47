import type { Family } from '@opentill/domain/chains';
import type { ServiceSchema } from './service-schema.ts';

const SCANNERS: Readonly<Record<Family, ServiceSchema>> = {
  EVM: 'scanner_evm',
  TRON: 'scanner_tron',
  SUI: 'scanner_sui',
};

/** The schema of the service that reads a family's chains. */
export function scannerSchemaOf(family: Family): ServiceSchema {
  return SCANNERS[family];
}
