import { expect, test } from 'vitest';
import { NO_CHOICE } from '../view/page-context.ts';
import { describePageContext, type Known } from './page-context.ts';

const described = (known: Partial<Known>) => {
  const nothing = {
    nowSeconds: 1,
    timeZone: 'UTC',
    offline: false,
    doubtful: false,
    wallets: [],
    asking: null,
    notice: null,
    held: undefined,
    choice: NO_CHOICE,
    opened: new Set<never>(),
    pageUrl: 'https://pay.example.com/checkout',
    host: 'pay.example.com',
    shopName: '',
  };
  const { walletBusy, held, walletNotice } = describePageContext({ ...nothing, ...known });
  return [walletBusy, held?.state, walletNotice?.text];
};
const notice = (text: 'walletAsked' | 'walletSent' | 'walletFailed' | 'walletRefused') => ({
  text,
  wallet: 'Wallet',
});
const held = { wallet: 'Wallet', walletId: 'w', transaction: null, explorerTxUrl: null, overdue: false };
const unsure = { ...held, state: 'UNSURE' } as const;
const sent = { ...held, state: 'SENT' } as const;
const reverted = { ...held, state: 'REVERTED' } as const;

test.each([
  [{}, [false, undefined, undefined]],
  [{ notice: notice('walletRefused') }, [false, undefined, 'walletRefused']],
  [{ offline: true }, [true, undefined, undefined]],
  // Its own wallet is still being asked: no other may be, and the outcome is not unknown yet.
  [{ asking: 'w', notice: notice('walletAsked'), held: unsure }, [true, undefined, 'walletAsked']],
  [{ held: sent, notice: notice('walletSent') }, [true, 'sent', undefined]],
  [{ held: { ...sent, overdue: true } }, [true, 'overdue', undefined]],
  [{ held: reverted }, [true, 'reverted', undefined]],
  [{ held: unsure }, [true, 'unsure', undefined]],
  [{ notice: notice('walletSent') }, [false, undefined, undefined]],
  [{ notice: notice('walletFailed') }, [false, undefined, undefined]],
] as const)('describes the surroundings of %j', (known, expected) => {
  expect(described(known)).toEqual(expected);
});
