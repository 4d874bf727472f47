import { expect, test } from 'vitest';
import { describePageContext, type Known } from './page-context.ts';

const described = (known: Partial<Known>) => {
  const nothing = {
    nowSeconds: 1,
    offline: false,
    doubtful: false,
    wallets: [],
    asking: null,
    notice: null,
    held: undefined,
    pageUrl: 'https://pay.example.com/checkout',
    host: 'pay.example.com',
    shopName: '',
  };
  const { walletBusy, onItsWay, mayPayAgain, walletNotice } = describePageContext({ ...nothing, ...known });
  return [walletBusy, onItsWay, mayPayAgain, walletNotice?.text];
};
const notice = (text: 'walletAsked' | 'walletSent' | 'walletFailed' | 'walletRefused') => ({
  text,
  wallet: 'Wallet',
});
const held = { wallet: 'Wallet', walletId: 'w', transaction: null, overdue: false };
const unsure = { ...held, state: 'UNSURE' } as const;
const sent = { ...held, state: 'SENT' } as const;
const reverted = { ...held, state: 'REVERTED' } as const;

test.each([
  [{}, [false, false, false, undefined]],
  [{ notice: notice('walletRefused') }, [false, false, false, 'walletRefused']],
  [{ offline: true }, [true, false, false, undefined]],
  // Its own wallet is still being asked: no other may be, and the outcome is not unknown yet.
  [{ asking: 'w', notice: notice('walletAsked'), held: unsure }, [true, true, false, 'walletAsked']],
  [{ held: sent }, [true, true, false, 'walletSent']],
  // The payment is overdue: the payer may check and decide to send another one.
  [{ held: { ...sent, overdue: true } }, [true, true, true, 'walletOverdue']],
  [{ held: reverted }, [true, true, true, 'walletReverted']],
  [{ held: unsure }, [true, true, true, 'walletFailed']],
  [{ held: unsure, notice: notice('walletRefused') }, [true, true, true, 'walletFailed']],
  [{ notice: notice('walletSent') }, [false, false, false, undefined]],
  [{ notice: notice('walletFailed') }, [false, false, false, undefined]],
] as const)('describes the surroundings of %j', (known, expected) => {
  expect(described(known)).toEqual(expected);
});
