import bill from "./bill.json";
import causes from "./causes.json";
import identity from "./identity.json";
import instance from "./instance.json";
import market from "./market.json";
import members from "./members.json";
import operator from "./operator.json";
import settings from "./settings.json";
import shell from "./shell.json";

export default {
  ...shell,
  ...identity,
  ...market,
  ...instance,
  ...bill,
  ...settings,
  ...members,
  ...operator,
  ...causes,
};
