import type { Family } from '@opentill/domain/chains';
import type { ServiceSchema } from './service-schema.ts';

const SCANNERS: Readonly<Record<Family, ServiceSchema | undefined>> = {
  EVM: 'scanner_evm',
  TRON: 'scanner_tron',
  SUI: undefined,
};

/** The schema of the service that reads a family's chains; undefined for a family that nobody reads yet. */
export function scannerSchemaOf(family: Family): ServiceSchema | undefined {
  return SCANNERS[family];
}
