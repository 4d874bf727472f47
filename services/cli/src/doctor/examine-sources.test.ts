import { expect, it } from 'vitest';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { examineSources } from './examine-sources.ts';

it('warns of sources that keep the signer from starting, even of disabled networks', () => {
  const rpcUrls = ['https://key@node.example/1', 'https://node.example:8443'];
  const network = { chain: 'TRON', enabled: false, rpcUrls } as unknown as NetworkConfig;
  expect(examineSources(network)).toEqual([
    {
      subject: 'TRON',
      check: 'same-host',
      outcome: 'warn',
      detail:
        'payout-signer does not start: same-host at node.example, unless SOURCE_RISKS_ACCEPTED names it.',
      mend: expect.stringContaining('Name sources of different hosts in TRON_RPC_URLS'),
    },
  ]);
  expect(examineSources({ ...network, chain: 'TRON_TEST' })).toEqual([]);
});
