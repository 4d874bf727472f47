import { describe, expect, it } from 'vitest';
import { waitUntil } from '@opentill/testkit/wait-until';
import { commandLines, openGuideBook } from '../src/guide-book.ts';
import { CHECKOUT } from '../src/read-markdown.ts';
import { WAIT_MS } from '../src/time-limits.ts';
import { bash, FIRST_PAYMENT, PAYMENT, PAYOUT, untilPaid, type StartedGateway } from './started-gateway.ts';

/** A newcomer's first commands, on a gateway without other orders. */
export function describeNpmStart(gateway: () => StartedGateway): void {
  const book = openGuideBook('npm-start');

  describe('npm start', () => {
    it('starts the whole gateway', () => {
      for (const document of ['README.md', FIRST_PAYMENT])
        expect(book.take(document, 'start').flatMap(commandLines)).toEqual(['npm start']);
      expect(gateway().running().output()).toContain('Opentill is ready. Ctrl-C stops everything.');
    });

    it("runs the guide's commands of the first payment", async () => {
      const [create, pay = '', look = ''] = book.take(FIRST_PAYMENT, 'first-payment');
      const created = JSON.parse(await bash(create)) as { code: number; data: Record<string, string> };
      expect(created).toMatchObject({
        code: 200,
        data: { orderId: 'first-1', amount: '12.50', symbol: 'USDT', chain: 'ETH_SEPOLIA' },
      });
      expect(created.data['paymentUrl']).toMatch(
        /^http:\/\/localhost:3010\/checkout\?orderId=first-1&sign=[0-9a-f]{64}\.default$/,
      );
      expect(JSON.parse(await bash(pay))).toEqual({ txid: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
      await untilPaid('first-1');
      const looked = await bash(look);
      expect(looked).toContain('"status":"SUCCESS"');
      for (const notifyType of PAYMENT) expect(looked).toContain(notifyType);
    });

    it("runs the guide's commands of the first payout, and finds ledger and chain equal", async () => {
      const [create, look = '', operate = ''] = book.take(FIRST_PAYMENT, 'first-payout');
      const created = JSON.parse(await bash(create)) as { code: number; data: Record<string, string> };
      expect(created).toMatchObject({
        code: 200,
        data: { orderId: 'out-1', amount: '5.00', paymentUrl: null },
      });
      await untilPaid('out-1', PAYOUT);
      expect(await bash(look)).toContain('"status":"SUCCESS"');
      let found = '';
      // The tracker books a payment shortly after its callback.
      const areEqual = async () => {
        found = await bash(
          `cd '${CHECKOUT}' && export OPENTILL_STATE_DIR='${gateway().stateDir}' && ${operate}`,
        );
        return true;
      };
      await waitUntil('ledger and chain are equal', areEqual, WAIT_MS);
      expect(found).toContain('1 of hot wallets');
      expect(found).not.toContain('DIFF');
    });

    it('runs all blocks of the first payment', () => {
      expect(book.left()).toEqual([]);
    });
  });
}
