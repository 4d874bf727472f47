import type { NetworkConfig } from '@opentill/contracts/network-config';
import { describeRisk, findSourceRisks } from '@opentill/contracts/source-risks';
import type { Finding } from './finding.ts';

/** payout-signer does not start with these sources, unless SOURCE_RISKS_ACCEPTED names them. */
export function examineSources(network: NetworkConfig): readonly Finding[] {
  return findSourceRisks([{ ...network, enabled: true }]).map((risk) => ({
    subject: network.chain,
    check: risk.kind,
    outcome: 'warn',
    detail: `payout-signer does not start: ${risk.kind} at ${risk.hosts.join(', ')}, unless SOURCE_RISKS_ACCEPTED names it.`,
    mend: describeRisk(risk),
  }));
}
