// Bundlers for browsers get this file in place of every module, because the token can sign payouts.
throw new Error('@opentill/sdk signs with the merchant’s token and must never reach a browser.');
